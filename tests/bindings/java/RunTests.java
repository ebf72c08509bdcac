// SPDX-License-Identifier: Apache-2.0
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.Set;
import org.junit.platform.engine.discovery.ClassNameFilter;
import org.junit.platform.engine.discovery.DiscoverySelectors;
import org.junit.platform.launcher.LauncherDiscoveryRequest;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/**
 * Runs the tests in a folder of classes; the last line is `N passed, N failed`. RunTests FOLDER
 * [PATTERN]
 */
public final class RunTests {
  private RunTests() {}

  public static void main(String[] args) {
    LauncherDiscoveryRequest request =
        LauncherDiscoveryRequestBuilder.request()
            .selectors(DiscoverySelectors.selectClasspathRoots(Set.of(Path.of(args[0]))))
            .filters(ClassNameFilter.includeClassNamePatterns(args.length > 1 ? args[1] : ".*Test"))
            .build();
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    LauncherFactory.create().execute(request, listener);
    TestExecutionSummary summary = listener.getSummary();
    summary.printFailuresTo(new PrintWriter(System.out), 12);
    System.out.println(
        summary.getTestsSucceededCount()
            + " passed, "
            + summary.getTotalFailureCount()
            + " failed");
    System.exit(
        summary.getTotalFailureCount() == 0 && summary.getTestsSucceededCount() > 0 ? 0 : 1);
  }
}
