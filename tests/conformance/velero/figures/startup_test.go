package figures

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// Exec to handshake line, as Velero starts both: the cookie in the environment, the server's flags in argv. The two
// take turns, so that a busy machine is busy for both.
func TestStartup(t *testing.T) {
	const runs = 20
	times := make([][]time.Duration, len(contenders))
	for range runs {
		for number, contender := range contenders {
			program, arguments := b.PluginPath(), bench.ServerArguments
			if contender.builtin {
				program, arguments = b.Program("velero-server"), append([]string{"run-plugins"}, arguments...)
			}
			times[number] = append(times[number], handshake(t, program, arguments))
		}
	}
	for number, contender := range contenders {
		// median sorts, so the ends are the extremes.
		middle := median(times[number])
		t.Logf("%-9s exec → handshake: median %7.2f ms, best %7.2f, worst %7.2f (%d runs)", contender.name,
			milliseconds(middle), milliseconds(times[number][0]), milliseconds(times[number][runs-1]), runs)
	}
	for _, path := range []string{b.PluginPath(), b.Program("velero-server")} {
		if info, err := os.Stat(path); err == nil {
			t.Logf("%-28s %.1f MB", info.Name(), float64(info.Size())/1e6)
		}
	}
}

func handshake(t *testing.T, program string, arguments []string) time.Duration {
	t.Helper()
	command := exec.Command(program, arguments...)
	command.Env = append(os.Environ(), "VELERO_PLUGIN=hello", "PLUGIN_PROTOCOL_VERSIONS=2", "PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000", "HOME="+b.Dir)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_, err = bufio.NewReader(output).ReadString('\n')
	took := time.Since(begin)
	_ = command.Process.Kill()
	_ = command.Wait()
	if err != nil {
		t.Fatalf("%s: no handshake: %v", program, err)
	}
	return took
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
