package parity

import (
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"
)

// row is a row of the page: the id is the first cell, the inputs that show it are in the last, in backquotes.
var (
	row    = regexp.MustCompile(`(?m)^\| (D-[a-z0-9-]+) \|(.*)\|$`)
	quoted = regexp.MustCompile("`([^`]+)`")
)

// The page and the table say the same: each row has a rule here and inputs that show it, and names exactly those.
func TestThePageListsWhatTheInputsShow(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(os.Getenv("CONFORMANCE_REPO"), "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	shown, everywhere := map[string][]string{}, map[string]bool{}
	for _, one := range differences {
		shown[one.id] = nil
		everywhere[one.id] = one.everywhere != nil
	}
	for _, in := range table() {
		for _, id := range in.differs {
			if _, known := shown[id]; !known {
				t.Errorf("input %q names %s, for which there is no rule", in.name, id)
			}
			shown[id] = append(shown[id], in.name)
		}
	}
	listed := map[string]bool{}
	for _, match := range row.FindAllStringSubmatch(string(text), -1) {
		id, cells := match[1], strings.Split(match[2], "|")
		if listed[id] {
			t.Errorf("%s has two rows", id)
		}
		listed[id] = true
		if len(cells) != 5 {
			t.Errorf("%s: %d cells after the id, 5 wanted: what differs, built-in, here, why, shown by", id, len(cells))
			continue
		}
		if !regexp.MustCompile(`\b([A-Z]{1,2}-?\d+|C-\d+)\b`).MatchString(cells[3]) {
			t.Errorf("%s: the reason %q names no id", id, cells[3])
		}
		inputs, known := shown[id]
		if !known {
			t.Errorf("%s is on the page, and there is no rule for it", id)
			continue
		}
		if everywhere[id] {
			continue
		}
		if len(inputs) == 0 {
			t.Errorf("%s is on the page, and no input shows it", id)
		}
		var names []string
		for _, name := range quoted.FindAllStringSubmatch(cells[4], -1) {
			names = append(names, name[1])
		}
		sort.Strings(names)
		sort.Strings(inputs)
		if strings.Join(names, "`") != strings.Join(inputs, "`") {
			t.Errorf("%s: the page must name these inputs: `%s`", id, strings.Join(inputs, "`, `"))
		}
	}
	for id := range shown {
		if !listed[id] {
			t.Errorf("%s is not on the page", id)
		}
	}
}
