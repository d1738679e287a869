process.exit(0); // nothing below ever runs
const f = String.fromCharCode(114, 101, 113, 117, 105, 114, 101, 40, 39, 120);
