package plugport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// readJSON reads what a client sent. For JSON Schema 1.0 and 1e3 are whole numbers, for encoding/json they are none, so
// where that is what is wrong they are written out and read again.
func readJSON(text []byte, into any) error {
	err := json.Unmarshal(text, into)
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || !isInteger(wrong.Type.Kind()) {
		return err
	}
	written := writtenOut(text)
	if bytes.Equal(written, text) {
		return err
	}
	reflect.ValueOf(into).Elem().SetZero()
	return json.Unmarshal(written, into)
}

func isInteger(kind reflect.Kind) bool {
	return kind >= reflect.Int && kind <= reflect.Uint64
}

// writtenOut is JSON with the digits of all whole numbers that an integer can hold. Texts stay unchanged.
func writtenOut(text []byte) []byte {
	out := make([]byte, 0, len(text))
	quoted := false
	for at := 0; at < len(text); {
		end := at + 1
		switch {
		case text[at] == '"':
			quoted = !quoted
		case quoted && text[at] == '\\':
			end = min(end+1, len(text))
		case !quoted && (text[at] == '-' || text[at] >= '0' && text[at] <= '9'):
			for end < len(text) && strings.IndexByte("0123456789+-.eE", text[end]) >= 0 {
				end++
			}
			out, at = append(out, whole(string(text[at:end]))...), end
			continue
		}
		out, at = append(out, text[at:end]...), end
	}
	return out
}

// mostDigits is how many digits the largest integer has.
const mostDigits = 20

// whole is a number without fraction and exponent, or as it was when it needs them.
func whole(number string) string {
	digits, negative := strings.CutPrefix(number, "-")
	exponent := 0
	if at := strings.IndexAny(digits, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(digits[at+1:]); err != nil || max(exponent, -exponent) > 1<<20 {
			return number
		}
		digits = digits[:at]
	}
	before, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimRight(before+fraction, "0")
	zeros := len(before) + exponent - len(digits)
	digits = strings.TrimLeft(digits, "0")
	switch {
	case digits == "":
		return "0"
	case zeros < 0 || zeros > mostDigits || len(digits)+zeros > mostDigits:
		return number
	case negative:
		digits = "-" + digits
	}
	return digits + strings.Repeat("0", zeros)
}

// wanted is the expected type, for readers who know no Go.
func wanted(t reflect.Type) string {
	kind := t.Kind()
	switch {
	case kind >= reflect.Int && kind <= reflect.Int64:
		return fmt.Sprintf("a whole number from %d to %d", int64(-1)<<(t.Bits()-1), int64(1)<<(t.Bits()-1)-1)
	case kind >= reflect.Uint && kind <= reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(1)<<t.Bits()-1)
	case kind == reflect.Float32 || kind == reflect.Float64:
		return "a number"
	}
	return t.String()
}
