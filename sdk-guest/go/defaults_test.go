package plugport

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"
)

type spelled struct {
	Since  time.Time       `json:"since" default:"2026-01-02T03:04:05Z"`
	Host   netip.Addr      `json:"host" default:"::1"`
	Bytes  []byte          `json:"bytes" default:"AAE="`
	Odd    string          `json:"odd" default:"\x01é\""`
	Many   []int           `json:"many" default:"[1, 2]"`
	Raw    json.RawMessage `json:"raw" default:"{}"`
	Number json.Number     `json:"number" default:"1.5"`
	Maybe  *time.Time      `json:"maybe" default:"2026-01-02T03:04:05Z"`
}

func TestDefaultsAreReadAsTheSchemaSaysThem(t *testing.T) {
	alone(t)
	Tool("spelled", "Spelled.", nothing[spelled])
	if _, err := listTools(); err != nil {
		t.Error(err)
	}
	var read spelled
	if err := readArguments("{}", &read); err != nil {
		t.Fatal(err)
	}
	if !read.Since.Equal(*read.Maybe) || !read.Host.Is6() || len(read.Bytes) != 2 || read.Odd != "\x01é\"" ||
		len(read.Many) != 2 || string(read.Raw) != "{}" || read.Number != "1.5" {
		t.Errorf("%+v", read)
	}
}

func TestDefaultsThatCannotBeUsedAreToldWhenListed(t *testing.T) {
	alone(t)
	Tool("when", "When.", nothing[struct {
		At time.Time `json:"at" default:"today"`
	}])
	Tool("small", "Small.", nothing[struct {
		N int8 `json:"n" default:"300"`
	}])
	_, err := listTools()
	mentions(t, err, "the default of `at` cannot be used", "the default of `n` cannot be used: number 300 where a whole number from -128 to 127 is wanted")
	Tool("any", "Any.", nothing[struct {
		Color any `json:"color" default:"red"`
	}])
	_, err = listTools()
	mentions(t, err, `the tag says "red", which is not JSON; write a text as "\"red\""`)
	Prompt("some", "Some.", func(*Call, struct {
		N int `json:"n" default:"many"`
	}) (string, error) {
		return "", nil
	})
	_, err = listPrompts()
	mentions(t, err, "the default of `n` cannot be used: \"many\" is no int")
}

func TestANullIsNothingWhereSomethingMayBeMissing(t *testing.T) {
	type inner struct {
		N    int     `json:"n" default:"3"`
		Word *string `json:"word,omitempty"`
	}
	var read struct {
		N    int    `json:"n" default:"7"`
		In   *inner `json:"in" default:"{}"`
		List []int  `json:"list,omitempty"`
		Any  any    `json:"any"`
	}
	err := readArguments(`{"n":null,"in":{"n":null,"word":null},"list":null,"any":null}`, &read)
	if err != nil || read.N != 7 || *read.In != (inner{N: 3}) || read.List != nil || read.Any != nil {
		t.Error(read, err)
	}
	var required struct {
		N int `json:"n"`
	}
	mentions(t, readArguments(`{"n":null}`, &required), "the argument `n` cannot be used: null where a whole number from")
}

func TestWholeNumbersMayBeWrittenInAnyWay(t *testing.T) {
	type inner struct {
		N     int8   `json:"n"`
		Label string `json:"label,omitempty"`
	}
	var read struct {
		One  int            `json:"one"`
		Many []uint16       `json:"many"`
		In   inner          `json:"in"`
		Map  map[string]int `json:"map"`
		Part float64        `json:"part"`
	}
	err := readArguments(`{"one":-1.50e1,"many":[1,2.0,0.0,3E+2],"in":{"n":100e-1,"label":"1.0 \"2.0"},"map":{"1.0":1e0},"part":1.5}`, &read)
	if err != nil || read.One != -15 || len(read.Many) != 4 || read.Many[3] != 300 || read.In != (inner{10, `1.0 "2.0`}) ||
		read.Map["1.0"] != 1 || read.Part != 1.5 {
		t.Error(read, err)
	}
	for number, want := range map[string]string{"1e19": "10000000000000000000", "1e21": "1e21", "1.5": "1.5", "-0.0": "0", "10.010": "10.010",
		"1e-1": "1e-1", "1e99999999999999999999": "1e99999999999999999999", "0e999": "0", "9007199254740993.0": "9007199254740993", "120": "120"} {
		if got := whole(number); got != want {
			t.Errorf("%s is %s", number, got)
		}
	}
	var whole struct {
		N uint  `json:"n"`
		M int64 `json:"m,omitempty"`
	}
	mentions(t, readArguments(`{"n":1.5}`, &whole), "the argument `n` cannot be used: number 1.5 where a whole number from 0 to 18446744073709551615 is wanted")
	mentions(t, readArguments(`{"n":1,"m":9223372036854775808}`, &whole),
		"number 9223372036854775808 where a whole number from -9223372036854775808 to 9223372036854775807 is wanted")
}

func TestANilErrorOfTheSDKIsNoPanic(t *testing.T) {
	alone(t)
	var none *Error
	Tool("none", "None.", func(*Call, struct{}) (string, error) { return "", none })
	_, err := callTool(&Call{}, "none", "{}")
	mentions(t, err, "a nil *plugport.Error was returned as an error; return nil itself")
	if KindOf(err) != Internal || KindOf(none) != 0 || toError(none).Kind != Internal {
		t.Error(KindOf(err))
	}
	var nothing *ToolError
	result, err := failed(nothing)
	if text, _ := result.Content[0].AsText(); !result.IsError || err != nil ||
		text != "a nil *plugport.ToolError was returned as an error; return nil itself" {
		t.Error(text, err)
	}
}

type window struct {
	Days  int        `json:"days" default:"7"`
	Zone  string     `json:"zone" default:"UTC"`
	Inner *innermost `json:"inner,omitempty"`
}

type innermost struct {
	Deep bool `json:"deep" default:"true"`
	Kept int  `json:"kept,omitempty"`
}

type windows struct {
	One     window            `json:"one"`
	Omitted window            `json:"omitted,omitempty"`
	Pointer *window           `json:"pointer,omitempty"`
	Many    []window          `json:"many,omitempty"`
	Named   map[string]window `json:"named,omitempty"`
	Default window            `json:"default" default:"{\"days\": 1}"`
}

func TestDefaultsWithinStructsAreFilledIn(t *testing.T) {
	alone(t)
	Tool("windows", "Windows.", nothing[windows])
	if _, err := listTools(); err != nil {
		t.Fatal(err)
	}
	var read windows
	text := `{"one":{"days":0,"inner":{"kept":9007199254740993}},"many":[{},{"zone":""}],"named":{"a":{"days":1e1}}}`
	if err := readArguments(text, &read); err != nil {
		t.Fatal(err)
	}
	usual := window{Days: 7, Zone: "UTC"}
	if read.One.Days != 0 || read.One.Zone != "UTC" || *read.One.Inner != (innermost{true, 9007199254740993}) {
		t.Errorf("%+v", read.One)
	}
	if read.Omitted != usual || read.Pointer != nil || read.Many[0] != usual || read.Many[1] != (window{Days: 7}) {
		t.Errorf("%+v", read)
	}
	if read.Named["a"] != (window{Days: 10, Zone: "UTC"}) || read.Default != (window{Days: 1, Zone: "UTC"}) {
		t.Errorf("%+v", read)
	}
	mentions(t, readArguments(`{"one":{"days":"x"}}`, &read), "the argument `one` cannot be used")
	mentions(t, readArguments(`{"one":[]}`, &read), "the argument `one` cannot be used")
}

func TestDefaultsWithinStructsAreChecked(t *testing.T) {
	alone(t)
	Tool("small", "Small.", nothing[struct {
		In []struct {
			N int8 `json:"n" default:"300"`
		} `json:"in"`
	}])
	_, err := listTools()
	mentions(t, err, "the default of `n` cannot be used: number 300 where a whole number from -128 to 127 is wanted")
}
