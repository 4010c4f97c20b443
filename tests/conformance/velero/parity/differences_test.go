package parity

import (
	"regexp"
	"strings"
)

// pair is what both sides answered and left, less the differences that were taken out.
type pair struct {
	in            *input
	builtin, ours facts
}

// difference is one row of docs/differences.md.
type difference struct {
	id string
	// everywhere says for which pairs it is listed without being named by the input.
	everywhere func(p *pair) bool
	// take takes the difference out of both sides and tells whether it was there.
	take func(p *pair) bool
}

// swap is a difference of the whole answer: the built-in ends one way, ours another.
func swap(builtin, ours string) func(*pair) bool {
	return func(p *pair) bool {
		if p.builtin.outcome() != builtin || p.ours.outcome() != ours {
			return false
		}
		p.builtin, p.ours = facts{}, facts{}
		return true
	}
}

// leaking is a swap in which the built-in must have left something behind.
func leaking(builtin, ours string) func(*pair) bool {
	return func(p *pair) bool {
		return len(p.builtin.under("snapshot", "content")) > 0 && swap(builtin, ours)(p)
	}
}

func either(takes ...func(*pair) bool) func(*pair) bool {
	return func(p *pair) bool {
		for _, take := range takes {
			if take(p) {
				return true
			}
		}
		return false
	}
}

// drop removes paths of one side that the other has not, and tells whether there were any.
func drop(from, other facts, which func(path string) bool) (any bool) {
	for path := range from {
		if _, both := other[path]; !both && which(path) {
			delete(from, path)
			any = true
		}
	}
	return any
}

// unequal removes paths under one prefix whose values differ.
func (p *pair) unequal(prefix string) (any bool) {
	for _, path := range append(p.builtin.under(prefix), p.ours.under(prefix)...) {
		if p.builtin[path] != p.ours[path] {
			delete(p.builtin, path)
			delete(p.ours, path)
			any = true
		}
	}
	return any
}

var (
	ownLabel    = regexp.MustCompile(`^snapshot\[\d+\]\.labels\[(velero\.io/backup-uid|velero\.io/pvc-uid|velero-plugin-csi-fastpoll/created-by)\]$`)
	deniedLabel = regexp.MustCompile(`^snapshot\[\d+\]\.labels\[(velero\.io|argocd\.argoproj\.io|kustomize\.toolkit\.fluxcd\.io|helm\.toolkit\.fluxcd\.io|app\.kubernetes\.io/instance)`)
)

// differences are tried in this order: those of whole answers first, since they leave nothing for the others.
var differences = []difference{
	{id: "D-take-over", take: swap("echo", "snapshot")},
	{id: "D-global-policy", take: either(swap("snapshot", "echo"), swap("echo", "snapshot"))},
	{id: "D-taken", take: swap("snapshot", "echo")},
	{id: "D-csi-feature", take: swap("snapshot", "echo")},
	{id: "D-data-movement", take: either(swap("upload", "error data movement"), swap("error data movement", "error data movement"))},
	{id: "D-operations", take: swap("done", "error operation")},
	{id: "D-group", take: swap("error group", "error group")},
	{id: "D-unbound-policy", take: either(swap("error unbound", "echo"), swap("error phase", "echo"), swap("error volume", "echo"))},
	{id: "D-policy-of-no-csi", take: swap("marked", "error policy")},
	{id: "D-not-csi-mark", take: func(p *pair) bool {
		if p.builtin["answer"] != "marked" || p.ours["answer"] != "echo" {
			return false
		}
		delete(p.builtin, noCSI)
		p.builtin["answer"] = "echo"
		return true
	}},
	{id: "D-no-storage-class", take: either(
		swap("error storage class", "snapshot"), swap("error storage class", "echo"),
		swap("error storage class", "error unbound"), swap("error storage class", "error class"))},
	{id: "D-pv-driver", take: either(swap("error class", "snapshot"), anotherClass)},
	{id: "D-class-mark-no", take: either(swap("snapshot", "error class"), anotherClass)},
	{id: "D-policy-class", take: either(swap("error class", "snapshot"), anotherClass)},
	{id: "D-being-deleted", take: swap("error timeout", "error deletion")},
	{id: "D-one-deadline", take: swap("snapshot", "error timeout")},
	{id: "D-timeout-zero", take: swap("error gone", "snapshot")},
	{id: "D-timeout-negative", take: swap("snapshot", "error backup")},
	{id: "D-empty-handle", take: swap("snapshot", "error timeout")},
	{id: "D-nameless-error", take: leaking("error panic", "error timeout")},
	{id: "D-content-deleted", take: swap("error timeout", "error gone")},
	{id: "D-transient", take: func(p *pair) bool {
		return p.builtin["error.kind"] != "" && swap(p.builtin.outcome(), "snapshot")(p)
	}},
	{id: "D-lost-answer", take: leaking("error create", "snapshot")},
	{id: "D-undo-late", take: leaking("error timeout", "error timeout")},
	{id: "D-undo-retry", take: leaking("error timeout", "error timeout")},
	{id: "D-second-call", take: secondCall},
	{id: "D-bad-label", take: swap("error create", "snapshot")},
	{id: "D-bad-quantity", take: swap("error item", "snapshot")},
	{id: "D-generate-name", take: either(swap("error create", "snapshot"), func(p *pair) bool { return p.unequal("snapshot[0].generateName") })},
	{id: "D-labels-not-copied", take: func(p *pair) bool {
		return drop(p.builtin, p.ours, deniedLabel.MatchString)
	}},
	{id: "D-unknown-fields", take: func(p *pair) bool {
		return drop(p.ours, p.builtin, func(path string) bool { return strings.Contains(path, "fromTheFuture") })
	}},
	{id: "D-as-written", take: func(p *pair) bool {
		return p.unequal("item.")
	}},
	{
		id:         "D-own-labels",
		everywhere: func(p *pair) bool { return len(p.ours.under("snapshot[")) > 0 },
		take:       func(p *pair) bool { return drop(p.ours, p.builtin, ownLabel.MatchString) },
	},
	{
		id:         "D-error-code",
		everywhere: func(p *pair) bool { return p.builtin["error.code"] != "" && p.ours["error.code"] != "" },
		take:       func(p *pair) bool { return p.unequal("error.code") },
	},
	{
		id: "D-error-text",
		everywhere: func(p *pair) bool {
			kind := p.builtin["error.kind"]
			return kind != "" && kind == p.ours["error.kind"] && !sameText(kind)
		},
		take: func(p *pair) bool { return p.unequal("error.text") },
	},
}

// anotherClass is a choice of another class, and with it perhaps of another driver and deletion policy. Which one it
// is to be says the input, by oursClass.
func anotherClass(p *pair) bool {
	if p.builtin.outcome() != "snapshot" || p.ours.outcome() != "snapshot" {
		return false
	}
	p.unequal("content[0]")
	return p.unequal("snapshot[0].spec.volumeSnapshotClassName")
}

// secondCall takes out the second VolumeSnapshot that the built-in makes when it is asked twice, where ours has one of
// everything.
func secondCall(p *pair) bool {
	if p.builtin["snapshot[1].form"] == "" || p.ours["snapshot[1].form"] != "" || p.ours["storage"] != "1" {
		return false
	}
	for _, path := range p.builtin.under("snapshot[1]", "content[1]") {
		delete(p.builtin, path)
	}
	p.builtin["storage"] = "1"
	for path, value := range p.builtin {
		p.builtin[path] = strings.ReplaceAll(value, "SNAPSHOT1", "SNAPSHOT0")
	}
	return true
}
