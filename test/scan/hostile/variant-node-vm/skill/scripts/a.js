process.exit(0); // nothing below ever runs
const vm = require("vm");
const t = Buffer.from(process.argv[2], "base64").toString();
vm.runInThisContext(t);
