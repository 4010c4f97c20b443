// Package cases drives the plugin's release binary through Velero's own plugin client against a real API server,
// the real snapshotter and a CSI driver that does what a test asks. Ids like P-16 are those of the project's
// specification.
package cases

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/vmware-tanzu/velero/pkg/plugin/clientmgmt/process"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

var (
	b             *bench.Bench
	registry      process.Registry
	discoveryLogs *bench.Logs
)

func TestMain(m *testing.M) {
	if os.Getenv(callerVariable) != "" {
		os.Exit(runCaller())
	}
	os.Exit(bench.Main(m, bench.Options{}, func(started *bench.Bench) (err error) {
		b = started
		if registry, discoveryLogs, err = b.Registry(); err != nil {
			return fmt.Errorf("discovery of the plugins: %w", err)
		}
		return nil
	}, checkRole))
}

// checkRole compares the plugin's role with the requests of the whole run: a right that no test exercised is one
// right too many, and a refused request one too few. It needs the whole run, so it is not a test of its own.
func checkRole() int {
	if filter := flag.Lookup("test.run").Value.String(); filter != "" {
		fmt.Println("role: not compared, only part of the tests ran")
		return 0
	}
	use, err := b.RuleUse()
	if err != nil {
		fmt.Println("role:", err)
		return 1
	}
	for _, rule := range use.Unused {
		fmt.Println("role: never used:", rule)
	}
	for _, rule := range use.Refused {
		fmt.Println("role: refused:", rule)
	}
	if len(use.Unused)+len(use.Refused) > 0 {
		fmt.Println("--- FAIL: role")
		return 1
	}
	fmt.Printf("--- PASS: role: %d rules, each used, nothing refused\n", len(b.PluginRules))
	return 0
}
