package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/pprof"
	"syscall"
	"testing"
	"time"
)

// Main runs a suite's tests on a bench of these options and returns the status to exit with. `prepare` gets the bench
// before the first test; `check`, which may be nil, judges the whole run when all tests have passed. However a run
// ends, by itself, by a signal or by its deadline, the bench's processes end with it.
func Main(m *testing.M, options Options, prepare func(*Bench) error, check func() int) (status int) {
	// The flags are read now: launching a plugin changes os.Args.
	flag.Parse()
	b, err := Start(context.Background(), options)
	if err != nil {
		fmt.Println("bench:", err)
		return 1
	}
	defer func() { b.Stop(status != 0 || os.Getenv("KEEP") != "") }()

	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		b.Stop(true)
		os.Exit(130)
	}()

	if err := prepare(b); err != nil {
		fmt.Println("bench:", err)
		return 1
	}
	if limit := testTimeout(); limit > 0 {
		deadline := time.AfterFunc(limit-farewell(limit), func() { b.giveUp(limit) })
		defer deadline.Stop()
	}
	if status = m.Run(); status == 0 && check != nil {
		status = check()
	}
	return status
}

// testTimeout is `go test`'s -timeout; zero is none.
func testTimeout() time.Duration {
	if timeout := flag.Lookup("test.timeout"); timeout != nil {
		if value, is := timeout.Value.(flag.Getter); is {
			limit, _ := value.Get().(time.Duration)
			return limit
		}
	}
	return 0
}

// farewell is how long before the deadline the end begins. At the deadline itself package testing panics, which stops
// nothing: the plugins of a Velero server would live on.
func farewell(limit time.Duration) time.Duration { return min(30*time.Second, limit/4) }

// giveUp is that end. The goroutines show where the tests hang, as the panic would.
func (b *Bench) giveUp(limit time.Duration) {
	fmt.Printf("--- FAIL: the tests do not end within -timeout %s; everything is being stopped\n", limit)
	_ = pprof.Lookup("goroutine").WriteTo(os.Stdout, 2)
	b.Stop(true)
	os.Exit(1)
}
