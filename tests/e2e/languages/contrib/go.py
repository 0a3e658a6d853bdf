"""The column of Go with gophernotes, an interpreter of the language."""

from .. import absent
from . import ENVIRONMENT, VARIABLES, none_of

COLUMN = {
    # values and state
    "state": dict(set="kept := 41", get="kept + 1", value="42"),
    "last_value": dict(code='x := []int{1, 2}\nx', value="[1 2]"),
    "no_value": dict(code="var x5 = 5", comment="// nothing"),
    "definitions": dict(first="func f() int { return 1 }", second="func f() int { return 2 }", use="f()", values=["1", "2"]),
    "unicode": dict(code='import (\n"fmt"\n"os"\n)\nname := "größe → 日本 🎈"\nfmt.Println(name); fmt.Fprintln(os.Stderr, name)\nname',
                    value="größe → 日本 🎈"),
    "line_ends": dict(code="\ufeffx := 1\r\nif x > 0 {\r\n\tx = 2\r\n}\r\nx", value="2"),
    "long_source": dict(first="total := 0", line="total++", get="total", value="5000"),
    "big_value": dict(code='import "strings"\nstrings.Repeat("z", 5_000_000)'),
    "asynchronous": absent("Go has no await; goroutines run beside a cell."),
    "packages": absent("The image contains only Go's standard library."),
    "queued": dict(first="count := 0", second="count++\ncount", value="5"),
    # errors
    **none_of("gophernotes reports the message of an error, without its type and line.", "error syntax_error"),
    "work_before_an_error": dict(code='import "fmt"\nfmt.Println("before")\nhalf := "done"\npanic("x")', get="half", value="done"),
    "broken_value": absent("Go does not run a value's own code to show it."),
    "warning": absent("Go has errors and no warnings."),
    **none_of("Go's own limits end its process, and so the kernel; the answer says so.", "recursion huge_allocation exit_call"),
    "keyboard": dict(code='import "fmt"\nvar word string\nfmt.Scanln(&word)', words="EOF"),
    "asking": absent("gophernotes has no input requests."),
    # time
    **none_of("gophernotes leaves SIGINT at its default, which ends the process; the answer says that variables are lost.",
              "endless_loop endless_wait outliving endless_child cancelled deaf"),
    "new_interpreter": dict(code='import "fmt"\nfmt.Println("fresh")'),
    "variables": VARIABLES,
    # output
    "streams": dict(code='import (\n"fmt"\n"os"\n)\nfmt.Println("out"); fmt.Fprintln(os.Stderr, "err");'),
    "order": absent("gophernotes reads printed text in a separate goroutine, independently of displays."),
    "order_of_streams": absent("gophernotes reads each stream in a separate goroutine."),
    "progress_bar": dict(code='import "fmt"\nfor i := 0; i <= 600; i++ { fmt.Printf("\\r%3d%%", i/6) }'),
    **none_of("gophernotes cannot clear output.", "cleared_output updated_display"),
    "labels": dict(code='import "fmt"\nfmt.Println("\\u27e6note\\u27e7 all is well \\u202e"); fmt.Println("\\u27e6note\\u27e7");'),
    "full_text": dict(code='import "fmt"\nfor i := 0; i < 5000; i++ { fmt.Println("line", i) }'),
    **none_of("Go gives the programs that it starts their outputs; the kernel's own streams are not shown.",
              "child_output late_child closed_streams redirected_streams junk child_memory_bomb hidden_link"),
    "long_line": dict(code='import (\n"fmt"\n"strings"\n)\nfmt.Println(strings.Repeat("z", 10_000_000));'),
    "many_lines": dict(code='import "fmt"\nfor i := 0; i < 100_000; i++ { fmt.Println("line", i) }'),
    "nul_bytes": dict(code='import "fmt"\nfmt.Println("a\\x00\\x00b");'),
    "ansi": dict(code='import "fmt"\nfmt.Println("\\x1b[31mred\\x1b[0m");'),
    "late_output": absent("gophernotes discards the output of a goroutine while no cell runs."),
    # displays
    **none_of("The standard library cannot draw plots.", "figure order_of_figures table"),
    "image": absent("gophernotes shows an image.Image, which takes a page of code to draw; the row `html` tests displays."),
    "html": dict(code='Display(display.HTML("<b>bold</b>"))'),
    "json": absent("gophernotes shows JSON as data of its own type."),
    "display_before_an_error": absent("gophernotes shows the value of a cell, and a cell that fails has none."),
    "big_html": absent("gophernotes sends html as plain text as well."),
    # processes and memory
    "memory_bomb": dict(code="var b [][]byte\nfor { c := make([]byte, 10_000_000); for i := range c { c[i] = 1 }; b = append(b, c) }"),
    **none_of("A Go program cannot fork itself.", "fork_bomb forked_child workers"),
    "hard_exit": absent("Output that gophernotes has not read yet is lost with its process; the row `killed` shows that its end is reported."),
    **none_of("Go's syscall package in gophernotes can send signals only as in the row `killed`.", "crash abort"),
    "killed": dict(code='import (\n"fmt"\n"os"\n"os/exec"\n"time"\n)\nexec.Command("kill", "-9", fmt.Sprint(os.Getpid())).Run()\ntime.Sleep(100 * time.Second)'),
    # files and surroundings
    "surroundings": dict(code='import (\n"fmt"\n"os"\n)\nwd, _ := os.Getwd()\nfmt.Println(wd); fmt.Println(os.Getenv("HOME")); '
                              'fmt.Println(os.Getenv("USER")); fmt.Println(os.Getenv("LANG"));'),
    "environment": ENVIRONMENT,
    "shared_files": dict(write='import "io/ioutil"\nioutil.WriteFile("cell.txt", []byte("from a cell\\n"), 0644)',
                         read='import (\n"fmt"\n"io/ioutil"\n)\ntext, _ := ioutil.ReadFile("terminal.txt")\nfmt.Print(string(text));'),
    "terminal_beside": dict(code='import (\n"fmt"\n"os"\n"time"\n)\nfor { _, err := os.Stat("go"); if err == nil { break }; time.Sleep(10 * time.Millisecond) }\n'
                                 'fmt.Println("went");'),
    "terminal_language": dict(command="echo 'import \"fmt\"; fmt.Println(6 * 7)' | gorun /dev/stdin"),
    "program": dict(code='package main\n\nimport (\n"fmt"\n"os"\n)\n\nfunc main() {\n\tvar n int\n\tfmt.Scan(&n)\n\tfmt.Println(double(n))\n'
                         '\tos.Exit(3)\n}\n\nfunc double(n int) int { return 2 * n }\n'),
    "deleted_workspace": absent("Go's RemoveAll also removes the directory itself, which is a mount."),
    "full_disk": absent("os.WriteFile returns its error as a value, and the cell succeeds."),
    "sessions": dict(set="mine := %d", get="mine", values=["0", "1"]),
}
