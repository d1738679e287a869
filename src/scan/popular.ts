/** Names that typosquatters imitate: much used packages, and neighbours of theirs that are what they seem. */

const PYPI = `
requests urllib3 boto3 botocore setuptools certifi numpy charset-normalizer idna typing-extensions python-dateutil packaging
six pyyaml s3transfer cryptography pandas cffi pycparser wheel jinja2 markupsafe attrs click pytz colorama tomli jsonschema
google-api-core google-auth google-cloud-storage googleapis-common-protos protobuf grpcio rsa pyasn1 pyasn1-modules cachetools
pip virtualenv filelock platformdirs zipp importlib-metadata importlib-resources wrapt pyjwt aiohttp multidict yarl frozenlist
aiosignal async-timeout scipy scikit-learn matplotlib pillow sqlalchemy greenlet flask werkzeug itsdangerous django fastapi
starlette uvicorn pydantic pydantic-core annotated-types httpx httpcore h11 anyio sniffio exceptiongroup pytest pluggy iniconfig
coverage pytest-cov pytest-asyncio pytest-mock tox nox black isort flake8 pylint mypy mypy-extensions ruff pycodestyle pyflakes
mccabe bandit docutils sphinx pygments rich tqdm psutil pyparsing lxml beautifulsoup4 soupsieve html5lib bs4 openpyxl xlrd
xlsxwriter et-xmlfile python-docx python-pptx pypdf pypdf2 pdfplumber reportlab pymupdf pdfminer-six weasyprint tabulate termcolor
redis celery kombu billiard vine amqp psycopg2 psycopg2-binary psycopg pymysql mysqlclient mysql-connector-python pymongo motor
elasticsearch opensearch-py cassandra-driver kafka-python confluent-kafka paramiko bcrypt pynacl fabric invoke ansible docker
kubernetes openshift awscli azure-core azure-identity azure-storage-blob msal msrest boto google-cloud-bigquery
google-api-python-client oauthlib requests-oauthlib authlib python-jose passlib argon2-cffi python-dotenv dotenv environs
dynaconf marshmallow cerberus toml tomlkit ujson orjson simplejson msgpack cbor2 pyarrow fastparquet polars dask distributed
xarray zarr netcdf4 h5py tables numba llvmlite sympy networkx igraph statsmodels seaborn plotly bokeh altair dash streamlit gradio
torch torchvision torchaudio tensorflow keras jax jaxlib flax transformers tokenizers datasets accelerate safetensors
huggingface-hub sentence-transformers sentencepiece diffusers peft bitsandbytes xgboost lightgbm catboost optuna mlflow wandb
nltk spacy gensim textblob openai anthropic cohere tiktoken langchain langchain-core langgraph llama-index chromadb pinecone
faiss-cpu qdrant-client weaviate-client instructor litellm mcp fastmcp selenium playwright scrapy mechanize pyppeteer pyautogui
opencv-python opencv-python-headless imageio scikit-image moviepy ffmpeg-python pydub librosa soundfile speechrecognition
yt-dlp tweepy praw telethon python-telegram-bot discord slack-sdk slackclient twilio sendgrid stripe jira atlassian-python-api
gitpython pygithub python-gitlab websockets websocket-client gevent eventlet twisted tornado sanic bottle gunicorn waitress
alembic peewee tortoise-orm pony arrow pendulum dateparser humanize faker factory-boy hypothesis freezegun responses respx vcrpy
loguru structlog sentry-sdk prometheus-client opentelemetry-api opentelemetry-sdk watchdog schedule apscheduler tenacity backoff
retry cloudpickle dill joblib more-itertools toolz sortedcontainers regex chardet ftfy unidecode rapidfuzz fuzzywuzzy
python-levenshtein jellyfish markdown mistune commonmark jupyter notebook jupyterlab ipython ipykernel nbformat nbconvert
traitlets pexpect ptyprocess prompt-toolkit typer fire docopt pyinstaller cython pybind11 nuitka poetry pipenv pipx uv hatch
hatchling flit twine build setuptools-scm pre-commit web3 eth-account bitcoinlib ccxt solana yfinance ta-lib biopython rdkit
pysam scanpy anndata astropy geopandas shapely fiona pyproj rasterio folium cartopy qiskit cirq pennylane pyscf ase pymatgen
colorlog colorful distro netaddr ipaddress dnspython scapy pyserial pyusb shutilwhich appdirs xmltodict defusedxml jmespath
jsonpath-ng pyotp qrcode python-magic python-multipart email-validator phonenumbers pycryptodome pycrypto ecdsa gnupg
`;

const NPM = `
lodash react react-dom vue preact angular svelte next nuxt express koa fastify hapi connect axios node-fetch got request
superagent undici cross-env cross-spawn cross-fetch chalk commander yargs minimist inquirer ora prompts debug dotenv moment dayjs
date-fns luxon uuid nanoid async bluebird rxjs underscore ramda immutable immer redux react-redux zustand mobx recoil typescript
ts-node tsx esbuild webpack webpack-cli rollup vite vitest parcel turbo babel babel-core babel-loader eslint prettier jest mocha
chai sinon jasmine karma cypress playwright puppeteer puppeteer-core selenium-webdriver jsdom cheerio htmlparser2 parse5
body-parser cookie-parser cors helmet morgan multer passport jsonwebtoken bcrypt bcryptjs argon2 crypto-js socket.io
socket.io-client ws mqtt mongoose mongodb mysql mysql2 pg sqlite3 better-sqlite3 redis ioredis sequelize knex prisma typeorm
graphql apollo-server electron electron-builder nodemon pm2 concurrently rimraf mkdirp glob fs-extra chokidar minimatch semver
colors color kleur picocolors ansi-styles strip-ansi string-width wrap-ansi supports-color figlet boxen cli-table3 blessed ink
discord.js telegraf slack twilio nodemailer stripe openai anthropic langchain zod ajv joi yup validator class-validator ejs
handlebars mustache pug nunjucks marked markdown-it remark rehype unified gray-matter js-yaml yaml toml ini xml2js
fast-xml-parser csv-parse papaparse xlsx exceljs pdfkit pdf-lib pdf-parse jszip archiver adm-zip tar unzipper sharp jimp canvas
three d3 chart.js echarts plotly.js leaflet tailwindcss postcss autoprefixer sass node-sass less styled-components bootstrap
jquery web3 ethers viem bitcoinjs-lib solana aws-sdk firebase firebase-admin googleapis serverless husky lint-staged lerna nx
npm pnpm yarn corepack core-js regenerator-runtime tslib classnames clsx prop-types framer-motion formik react-router
react-router-dom react-query swr storybook lodash.merge lodash.get object-assign inherits safe-buffer readable-stream
through2 event-stream node-gyp bindings nan node-addon-api execa shelljs zx which open get-port portfinder http-proxy
http-server serve browserify gulp grunt bower pino winston bunyan log4js sentry i18next iconv-lite qs query-string form-data
busboy formidable mime mime-types tough-cookie keytar robotjs serialport ffi-napi left-pad is-odd is-even
`;

export const POPULAR = { pypi: names(PYPI), npm: names(NPM) } as const;
export type Index = keyof typeof POPULAR;

function names(text: string): ReadonlySet<string> {
  return new Set(text.split(/\s+/).filter(name => name !== ''));
}

/** Real packages that are one letter from another real one. */
const NEIGHBOURS = new Set(
  'python ijson aws-cdk latch deno bun node npx httpie httpx2 preact react request requests pip pipx nox tox dash ask flake8 mypy pyaml ruamel-yaml redis ioredis koa hapi vite vitest color colors chalk tsx tsup ws got glob globby pandas polars torch touch typer tyro pydub yarn yargs pytest pytz click clack nan nano which open opn opener tables table jsonschema fastapi flask fabric'.split(
    ' ',
  ),
);

type Shelf = {
  bare: ReadonlyMap<string, string>;
  byLength: ReadonlyMap<number, readonly string[]>;
  known: Map<string, string | null>;
};
const SHELVES: Record<Index, Shelf> = { pypi: shelve(POPULAR.pypi), npm: shelve(POPULAR.npm) };
const MAX_KNOWN = 10_000;

function shelve(popular: ReadonlySet<string>): Shelf {
  const bare = new Map(Array.from(popular, name => [withoutSeparators(name), name]));
  return { bare, byLength: Map.groupBy(popular, name => name.length), known: new Map() };
}

/** The popular package that a name imitates, or null when it is one itself or is like none. */
export function imitates(name: string, index: Index): string | null {
  const { known } = SHELVES[index];
  const plain = (index === 'pypi' ? name.replace(/[-_.]{1,3}/g, '-') : name).toLowerCase();
  const before = known.get(plain);
  if (before !== undefined) return before;
  const found = findImitated(plain, index);
  // Answers are kept, within bounds: a list may name one package a hundred thousand times.
  if (known.size >= MAX_KNOWN) known.clear();
  known.set(plain, found);
  return found;
}

function findImitated(name: string, index: Index): string | null {
  if (POPULAR[index].has(name) || NEIGHBOURS.has(name) || name.length < 4 || name.length > 60) return null;
  const { bare, byLength } = SHELVES[index];
  const same = bare.get(withoutSeparators(name));
  if (same !== undefined && same.length > 4) return same;
  for (const length of [name.length, name.length - 1, name.length + 1]) {
    const like = length < 5 ? undefined : byLength.get(length)?.find(candidate => isOneSlip(name, candidate));
    if (like !== undefined) return like;
  }
  return null;
}

function withoutSeparators(name: string): string {
  return name.replace(/[-_.]/g, '');
}

/** One letter more, less or other, or two neighbours that changed places. A digit at the end is a version, not a slip. */
export function isOneSlip(a: string, b: string): boolean {
  if (a === b || Math.abs(a.length - b.length) > 1) return false;
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const left = a.slice(start, a.length - end);
  const right = b.slice(start, b.length - end);
  if (/^\d?$/.test(left) && /^\d?$/.test(right)) return false;
  if (left.length <= 1 && right.length <= 1) return true;
  return left.length === 2 && right.length === 2 && left[0] === right[1] && left[1] === right[0];
}
