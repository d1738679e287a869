const fs = require('node:fs');

fs.writeFileSync(process.env.SANDBOX_OUTPUT, JSON.stringify({ x: JSON.parse(process.env.SANDBOX_INPUT).x }));
