package backups

import (
	"fmt"
	"strconv"
	"strings"

	velerov1 "github.com/vmware-tanzu/velero/pkg/apis/velero/v1"

	"velero-plugin-csi-fastpoll.test/velero/bench"
)

// logLine is one line of a log of Velero by its fields; `msg` and `level` are among them.
type logLine map[string]string

// pluginName is what Velero calls us in a log line.
const pluginName = "velero-plugin-csi-fastpoll"

// logLines reads logrus's text: KEY=VALUE, a value with blanks in Go's quotes.
func logLines(text string) []logLine {
	var lines []logLine
	for _, rest := range strings.Split(text, "\n") {
		line := logLine{}
		for rest != "" {
			key, value, found := strings.Cut(rest, "=")
			if !found {
				break
			}
			if quoted, err := strconv.QuotedPrefix(value); err == nil {
				line[strings.TrimSpace(key)], _ = strconv.Unquote(quoted)
				rest = value[len(quoted):]
				continue
			}
			line[strings.TrimSpace(key)], rest, _ = strings.Cut(value, " ")
		}
		if len(line) > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

// at are the lines of one level.
func at(lines []logLine, level string) []logLine {
	return where(lines, func(line logLine) bool { return line["level"] == level })
}

// ours are the lines that our plugin has logged.
func ours(lines []logLine) []logLine {
	return where(lines, func(line logLine) bool { return line["pluginName"] == pluginName })
}

// saying are the lines with a message.
func saying(lines []logLine, message string) []logLine {
	return where(lines, func(line logLine) bool { return strings.Contains(line["msg"], message) })
}

func where(lines []logLine, condition func(logLine) bool) []logLine {
	var found []logLine
	for _, line := range lines {
		if condition(line) {
			found = append(found, line)
		}
	}
	return found
}

// counts demands that the backup's log has so many warnings and errors of ours, and that status and results count
// every line of these levels, ours and Velero's own, and nothing else.
func (s *setting) counts(done *velerov1.Backup, archive *bench.Archive, warnings, errors int) {
	s.Helper()
	lines := logLines(archive.Log)
	for _, one := range []struct {
		level           string
		ours, status    int
		results, logged []string
	}{
		{"warning", warnings, done.Status.Warnings, archive.Warnings, nil},
		{"error", errors, done.Status.Errors, archive.Errors, nil},
	} {
		all := at(lines, one.level)
		for _, line := range all {
			one.logged = append(one.logged, fmt.Sprint(line))
		}
		seen := strings.Join(one.logged, "\n")
		if found := len(ours(all)); found != one.ours {
			s.Errorf("%d lines of ours with level %s, %d wanted:\n%s", found, one.level, one.ours, seen)
		}
		if one.status != len(all) || len(one.results) != len(all) {
			s.Errorf("level %s: %d in the status, %d in the results, %d in the log:\n%s\n%q", one.level, one.status, len(one.results), len(all), seen, one.results)
		}
		for _, line := range ours(all) {
			if !contains(one.results, line["msg"], line["error"]) {
				s.Errorf("not in the results %q: %v", one.results, line)
			}
		}
	}
}

// contains says whether one of the texts has all the words.
func contains(texts []string, words ...string) bool {
	for _, text := range texts {
		found := true
		for _, word := range words {
			found = found && strings.Contains(text, word)
		}
		if found {
			return true
		}
	}
	return false
}
