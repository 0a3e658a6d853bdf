# A persistent Perl in one page of code: only the kernel link of docs/protocol.md, section 2.
use strict;
use warnings;

my %ESCAPES = ('"' => '"', '\\' => '\\', '/' => '/', b => "\b", f => "\f", n => "\n", r => "\r", t => "\t");

my ($fd) = delete($ENV{HUSK_LINK}) =~ /^fd:(\d+)$/;
open my $link, '+<&=', $fd or die "no link: $!";    # Perl does not pass it on to programs that cells start
my $owner = $$;
$| = 1;

sub quoted {
    my ($text) = @_;
    utf8::decode($text) unless utf8::is_utf8($text);
    $text =~ s/([\\"\x00-\x1f])/sprintf '\\u%04x', ord $1/ge;
    utf8::encode($text);
    return qq("$text");
}

sub tell_pid1 {
    my ($body) = @_;
    return if $$ != $owner;    # a forked child must not send
    my $message = pack('N', length $body) . $body;
    while (length $message) {
        my $written = syswrite $link, $message;
        exit unless defined $written or $!{EINTR};
        substr($message, 0, $written // 0) = '';
    }
}

sub take {
    my ($size) = @_;
    my $bytes = '';
    while (length $bytes < $size) {
        my $got = sysread $link, $bytes, $size - length $bytes, length $bytes;
        exit if defined $got ? $got == 0 : !$!{EINTR};
    }
    return $bytes;
}

sub unquoted {
    my ($text) = @_;
    utf8::decode($text);
    $text =~ s/\\u(d[89ab]..)\\u(d[c-f]..)/chr(0x10000 + (hex($1) - 0xd800) * 1024 + hex($2) - 0xdc00)/gei;
    $text =~ s/\\(?:u(....)|(.))/defined $1 ? chr hex $1 : $ESCAPES{$2}/ge;
    utf8::encode($text);
    return $text;
}

# Cells run in main with their own `our` variables; `my` ends with the cell.
sub run_cell {
    my ($code) = @_;
    local $SIG{INT} = sub { die "interrupted\n" };
    my $value = eval "package main; no strict; $code";
    return ($value, $@);
}

$SIG{INT} = 'IGNORE';
tell_pid1(sprintf '{"op":"hello","version":1,"language_version":"%vd"}', $^V);
while (1) {
    my $request = take(unpack 'N', take(4));
    my ($id) = $request =~ /"id":\s*(\d+)/;
    my ($code) = $request =~ /"code":\s*"((?:[^"\\]|\\.)*)"/s;
    my ($value, $failure) = run_cell(unquoted($code));
    exit if $$ != $owner;
    if ($failure ne '') {
        my $type = $failure eq "interrupted\n" ? 'Interrupted' : 'Died';
        tell_pid1(qq({"op":"error","id":$id,"type":"$type","message":) . quoted($failure) . '}');
    } elsif (defined $value) {
        tell_pid1(qq({"op":"result","id":$id,"data":{"text/plain":) . quoted("$value") . '}}');
    }
    tell_pid1(qq({"op":"done","id":$id}));
}
