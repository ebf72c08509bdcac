// SPDX-License-Identifier: Apache-2.0

// Runs the conformance cases through the generated functions of the Go binding; see ../README.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

	"dlcore"
)

func main() {
	cases := flag.String("cases", "tests/conformance/cases", "folder of the cases")
	filter := flag.String("filter", "", "only cases whose name holds this")
	flag.Parse()
	passed, failed, err := run(*cases, *filter)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 {
		os.Exit(1)
	}
}

func run(folder, filter string) (passed, failed int, err error) {
	cases, err := loadCorpus(folder)
	if err != nil {
		return 0, 0, err
	}
	schemas, err := loadSchemas()
	if err != nil {
		return 0, 0, err
	}
	engine, err := dlcore.OpenEngine()
	if err != nil {
		return 0, 0, err
	}
	defer engine.Close()
	typed := map[string]int{}
	for _, c := range cases {
		if !strings.Contains(c.Name, filter) {
			continue
		}
		if err := one(engine, session{c: c, schemas: schemas, typed: typed}); err != nil {
			failed++
			fmt.Printf("FAILED %s: %v\n", c.Name, err)
		} else {
			passed++
		}
	}
	for name, op := range schemas {
		if filter == "" && !op.Hidden && typed[name] == 0 {
			failed++
			fmt.Printf("FAILED coverage: no case calls the typed function of %s\n", name)
		}
	}
	return passed, failed, nil
}

// one makes each claim of a case on a context of its own, since random ops count their calls.
func one(engine *dlcore.Engine, s session) error {
	for _, check := range checks(s.c) {
		dl, err := engine.Context("cpu", dlcore.Seed(42))
		if err != nil {
			return err
		}
		s.dl = dl
		err = check(s)
		dl.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func checks(c *testCase) []func(session) error {
	if c.Expect.Error != "" {
		return []func(session) error{checkError}
	}
	list := []func(session) error{checkOutputs, checkLayout}
	if len(c.differentiable()) > 0 {
		list = append(list, checkGradients)
	}
	if c.has("jvp") {
		list = append(list, checkForwardMode)
	}
	if c.has("smooth") {
		list = append(list, checkGradcheck)
	}
	return list
}
