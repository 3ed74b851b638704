//go:build !wasip1

package plugporthttp

import (
	"slices"
	"strings"
)

// rejected are the header fields that the server does not let a plugin set.
var rejected = []string{
	"connection", "host", "http2-settings", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
	"transfer-encoding", "upgrade",
}

// acceptable is what the server makes of header fields: it drops the length, and rejects what may not be set.
func acceptable(fields [][2]string) ([][2]string, error) {
	var kept [][2]string
	for _, field := range fields {
		name := strings.ToLower(field[0])
		if !isName(name) || !isValue(field[1]) || slices.Contains(rejected, name) {
			return nil, &Error{Kind: Invalid, reason: "the header field `" + name + "` is not one that may be set"}
		}
		if name != "content-length" {
			kept = append(kept, field)
		}
	}
	return kept, nil
}

func isName(name string) bool {
	isOther := func(letter rune) bool {
		isWord := letter >= 'a' && letter <= 'z' || letter >= '0' && letter <= '9'
		return !isWord && !strings.ContainsRune("!#$%&'*+-.^_`|~", letter)
	}
	return name != "" && !strings.ContainsFunc(name, isOther)
}

func isValue(value string) bool {
	isControl := func(letter rune) bool { return letter < ' ' && letter != '\t' || letter == 0x7f }
	return !strings.ContainsFunc(value, isControl)
}
