package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Behaviour is what the CSI driver does with the volumes whose handle begins with a prefix; the fields are those
// of the driver's control.
type Behaviour struct {
	Latency          time.Duration `json:"latency,omitempty"`
	Failures         int           `json:"failures,omitempty"`
	Code             uint32        `json:"code,omitempty"`
	Message          string        `json:"message,omitempty"`
	Hang             bool          `json:"hang,omitempty"`
	CutAfterGivingUp time.Duration `json:"cutAfterGivingUp,omitempty"`
	NotReady         time.Duration `json:"notReady,omitempty"`
	SizeBytes        int64         `json:"sizeBytes,omitempty"`
}

// StorageSnapshot is one snapshot in the driver's storage.
type StorageSnapshot struct {
	Name    string    `json:"name"`
	Handle  string    `json:"handle"`
	Volume  string    `json:"volume"`
	Size    int64     `json:"size"`
	Cut     time.Time `json:"cut"`
	Deleted time.Time `json:"deleted"`
}

// StorageReport is what the storage holds, has held, and how often CreateSnapshot was called by volume.
type StorageReport struct {
	Live    []StorageSnapshot `json:"live"`
	Deleted []StorageSnapshot `json:"deleted"`
	Calls   map[string]int    `json:"calls"`
}

// Driver speaks to the running CSI driver's control socket.
type Driver struct{ client *http.Client }

func newDriver(socket string) *Driver {
	return &Driver{client: &http.Client{
		Timeout: 30 * time.Second,
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		}},
	}}
}

// Behave sets a behaviour and releases the calls that hang under the one before.
func (d *Driver) Behave(prefix string, how Behaviour) error {
	body, err := json.Marshal(how)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPut, "http://driver/behaviour?prefix="+url.QueryEscape(prefix), bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = d.do(request)
	return err
}

// Snapshots reports on the volumes whose handle begins with the prefix.
func (d *Driver) Snapshots(prefix string) (report StorageReport, err error) {
	request, err := http.NewRequest(http.MethodGet, "http://driver/snapshots?prefix="+url.QueryEscape(prefix), nil)
	if err != nil {
		return report, err
	}
	body, err := d.do(request)
	if err != nil {
		return report, err
	}
	return report, json.Unmarshal(body, &report)
}

func (d *Driver) do(request *http.Request) ([]byte, error) {
	response, err := d.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= 300 {
		err = fmt.Errorf("driver control: %s: %s", response.Status, body)
	}
	return body, err
}
