// SPDX-License-Identifier: Apache-2.0
//! Hands what an engine of dlcore has to say to the `log` crate.
//!
//! ```
//! # fn main() -> dlcore::Result<()> {
//! let engine = dlcore::Engine::open()?;
//! dlcore_log::forward(&engine)?;
//! # Ok(())
//! # }
//! ```

use dlcore::log::Level;
use dlcore::{Engine, Result};

/// From now on every record of the engine goes to the logger of the process, on a thread that ends with the engine.
/// The target is `dlcore::` and who speaks: `dlcore::checkpoint`.
pub fn forward(engine: &Engine) -> Result<()> {
    engine.set_log_level(match log::max_level() {
        log::LevelFilter::Debug | log::LevelFilter::Trace => Level::Debug,
        log::LevelFilter::Info => Level::Info,
        log::LevelFilter::Warn => Level::Warning,
        log::LevelFilter::Error | log::LevelFilter::Off => Level::Error,
    });
    engine.forward_logs(|record| {
        let level = match record.level {
            Level::Error => log::Level::Error,
            Level::Warning => log::Level::Warn,
            Level::Info => log::Level::Info,
            _ => log::Level::Debug,
        };
        let target = format!("dlcore::{}", record.source);
        if record.lost > 0 {
            log::log!(target: &target, log::Level::Warn, "{} records were lost", record.lost);
        }
        log::log!(target: &target, level, "{}", record.message);
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{channel, Sender};
    use std::sync::Mutex;
    use std::time::Duration;

    struct Channel(Mutex<Sender<String>>);

    impl log::Log for Channel {
        fn enabled(&self, _: &log::Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &log::Record<'_>) {
            let text = format!("{} {} {}", record.level(), record.target(), record.args());
            let _ = self.0.lock().unwrap().send(text);
        }

        fn flush(&self) {}
    }

    #[test]
    fn records_arrive() {
        let (sender, receiver) = channel();
        log::set_logger(Box::leak(Box::new(Channel(Mutex::new(sender))))).unwrap();
        log::set_max_level(log::LevelFilter::Info);
        let engine = Engine::open().unwrap();
        forward(&engine).unwrap();
        engine.log(Level::Debug, "test", "not this");
        engine.log(Level::Warning, "test", "but this");
        assert_eq!(receiver.recv_timeout(Duration::from_secs(10)).unwrap(), "WARN dlcore::test but this");
    }
}
