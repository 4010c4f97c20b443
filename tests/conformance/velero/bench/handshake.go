package bench

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// Handshake starts a plugin as Velero does, with the cookie in the environment and the server's flags in argv, and
// measures from exec to the handshake line. The built-in plugin is the velero program itself.
func (b *Bench) Handshake(builtin bool) (time.Duration, error) {
	program, arguments := os.Getenv("PLUGIN_BINARY"), ServerArguments
	if builtin {
		program, arguments = b.Program("velero-server"), append([]string{"run-plugins"}, ServerArguments...)
	}
	command := exec.Command(program, arguments...)
	command.Env = append(os.Environ(), "VELERO_PLUGIN=hello", "PLUGIN_PROTOCOL_VERSIONS=2", "PLUGIN_MIN_PORT=10000", "PLUGIN_MAX_PORT=25000", "HOME="+b.Dir)
	output, err := command.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := command.Start(); err != nil {
		return 0, err
	}
	_, err = bufio.NewReader(output).ReadString('\n')
	took := time.Since(begin)
	_ = command.Process.Kill()
	_ = command.Wait()
	if err != nil {
		return 0, fmt.Errorf("%s: no handshake: %w", program, err)
	}
	return took, nil
}
