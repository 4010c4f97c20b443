package figures

import (
	"context"
	"fmt"
	"testing"
	"time"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// Requests for one PVC, up to the create and from there on, with the handle at 0.3, 1.4 and 7 s.
func TestRequests(t *testing.T) {
	for _, early := range []bool{true, false} {
		for _, latency := range []time.Duration{300 * time.Millisecond, 1400 * time.Millisecond, 7 * time.Second} {
			for _, contender := range contenders {
				before, during, took := requests(t, contender.builtin, early, latency)
				mode := map[bool]string{true: "early", false: "slow"}[early]
				t.Logf("%-9s %-5s handle at %-5s Execute %6.2f s, requests: %2d up to the create, %2d after it", contender.name, mode, latency, took.Seconds(), before, during)
			}
		}
	}
}

func requests(t *testing.T, builtin, early bool, latency time.Duration) (before, during int, took time.Duration) {
	t.Helper()
	ctx := context.Background()
	namespace, err := b.Namespace(ctx, "requests")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Driver.Behave(namespace+"/", bench.Behaviour{Latency: latency}); err != nil {
		t.Fatal(err)
	}
	item, err := b.CreateVolume(ctx, namespace, bench.Volume{Name: "data"})
	if err != nil {
		t.Fatal(err)
	}
	value := fmt.Sprint(early)
	plugin, err := b.Launch(registry, namespace, bench.Launch{Builtin: builtin, Env: map[string]string{
		"VELERO_CSI_EARLY_FAST_POLL": value, "CSI_SNAPSHOT_EARLY_FREQUENT_POLLING": value,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer plugin.Close()
	begin := time.Now()
	if _, _, _, _, err := plugin.Action.Execute(item, bench.NewBackup("requests")); err != nil {
		t.Fatal(err)
	}
	took = time.Since(begin)
	all, err := b.Requests(func(user string) bool { return user == plugin.User })
	if err != nil {
		t.Fatal(err)
	}
	created := false
	for _, request := range all {
		if created {
			during++
		} else {
			before++
		}
		created = created || request.Kind() == "create volumesnapshots"
	}
	return before, during, took
}
