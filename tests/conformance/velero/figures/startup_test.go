package figures

import (
	"os"
	"testing"
	"time"
)

// Exec to handshake line of both. The two take turns, so that a busy machine is busy for both.
func TestStartup(t *testing.T) {
	const runs = 20
	times := make([][]time.Duration, len(contenders))
	for range runs {
		for number, contender := range contenders {
			took, err := b.Handshake(contender.builtin)
			if err != nil {
				t.Fatal(err)
			}
			times[number] = append(times[number], took)
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

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
