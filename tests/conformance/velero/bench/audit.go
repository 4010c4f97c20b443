package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"
)

// Request is one line of the audit log, as far as tests look at it.
type Request struct {
	Stage     string `json:"stage"`
	Verb      string `json:"verb"`
	URI       string `json:"requestURI"`
	UserAgent string `json:"userAgent"`
	User      struct {
		Username string `json:"username"`
	} `json:"user"`
	Object struct {
		Group       string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Response struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	Received    time.Time         `json:"requestReceivedTimestamp"`
	Annotations map[string]string `json:"annotations"`
}

// Kind is the verb and the resource, `get volumesnapshots` or `patch volumesnapshots/status`.
func (r Request) Kind() string {
	resource := r.Object.Resource
	if resource == "" {
		resource, _, _ = strings.Cut(r.URI, "?")
	}
	if r.Object.Subresource != "" {
		resource += "/" + r.Object.Subresource
	}
	return r.Verb + " " + resource
}

// Write is true for a request that can change the cluster.
func (r Request) Write() bool {
	return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch"
}

// Requests reads the requests of the users that `of` accepts, in the order in which they came. The API server
// writes a line before its answer is complete, so a request that was answered is there.
func (b *Bench) Requests(of func(user string) bool) ([]Request, error) {
	return b.RequestsAfter(0, of)
}

// AuditMark is the present end of the audit log, for RequestsAfter.
func (b *Bench) AuditMark() (int64, error) {
	info, err := os.Stat(b.auditLog())
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// RequestsAfter is Requests without what came before the mark, which a long run must not read again every time.
func (b *Bench) RequestsAfter(mark int64, of func(user string) bool) ([]Request, error) {
	file, err := os.Open(b.auditLog())
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(mark, io.SeekStart); err != nil {
		return nil, err
	}
	var found []Request
	reader := bufio.NewReader(file)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		var request Request
		if err := json.Unmarshal(line, &request); err != nil {
			return nil, fmt.Errorf("audit log: %w in %s", err, line)
		}
		// A watch has two lines, at its start and at its end.
		if of(request.User.Username) && !(request.Stage == "ResponseComplete" && request.Verb == "watch") {
			found = append(found, request)
		}
	}
	sort.SliceStable(found, func(i, j int) bool { return found[i].Received.Before(found[j].Received) })
	return found, nil
}

func (b *Bench) auditLog() string { return filepath.Join(b.Dir, "audit.log") }

// Table counts requests by kind, one per line.
func Table(requests []Request) string {
	counts := map[string]int{}
	for _, request := range requests {
		counts[request.Kind()]++
	}
	kinds := make([]string, 0, len(counts))
	for kind := range counts {
		kinds = append(kinds, kind)
	}
	sort.Strings(kinds)
	var text strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&text, "%4d  %s\n", counts[kind], kind)
	}
	fmt.Fprintf(&text, "%4d  in all", len(requests))
	return text.String()
}
