package bench

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
)

// Logs collects what Velero's logger gets: the plugin's lines and those of go-plugin about it. Velero counts the
// same lines, so a Warn here is a warning of the backup and an Error makes it PartiallyFailed.
type Logs struct {
	mu      sync.Mutex
	entries []logrus.Entry
}

// newLogger returns the logger for one plugin process; its lines go to the file as well.
func newLogger(file *os.File) (*logrus.Logger, *Logs) {
	logs := &Logs{}
	logger := logrus.New()
	logger.SetOutput(file)
	logger.SetLevel(logrus.DebugLevel)
	logger.AddHook(logs)
	return logger, logs
}

// Levels and Fire make Logs a logrus hook.
func (l *Logs) Levels() []logrus.Level { return logrus.AllLevels }

// Fire keeps a copy: logrus reuses its entries.
func (l *Logs) Fire(entry *logrus.Entry) error {
	kept := *entry
	kept.Data = logrus.Fields{}
	for key, value := range entry.Data {
		kept.Data[key] = value
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, kept)
	return nil
}

// Except leaves out what was logged about a plugin process of the command.
func (l *Logs) Except(command string) *Logs {
	l.mu.Lock()
	defer l.mu.Unlock()
	rest := &Logs{}
	for _, entry := range l.entries {
		if entry.Data["cmd"] != command {
			rest.entries = append(rest.entries, entry)
		}
	}
	return rest
}

// At returns the lines of one level as text.
func (l *Logs) At(level logrus.Level) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, entry := range l.entries {
		if entry.Level == level {
			lines = append(lines, line(entry))
		}
	}
	return lines
}

// Containing returns every line, of any level, in which the text occurs.
func (l *Logs) Containing(text string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var lines []string
	for _, entry := range l.entries {
		if one := line(entry); strings.Contains(one, text) {
			lines = append(lines, one)
		}
	}
	return lines
}

func line(entry logrus.Entry) string {
	fields := make([]string, 0, len(entry.Data))
	for key, value := range entry.Data {
		if key != "cmd" && key != "pluginName" && key != "logSource" {
			fields = append(fields, fmt.Sprintf("%s=%v", key, value))
		}
	}
	return fmt.Sprintf("%s: %s %s", entry.Level, entry.Message, strings.Join(fields, " "))
}
