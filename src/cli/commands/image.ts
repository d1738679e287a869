import { resolve } from 'node:path';
import type { Image, ImportProgress } from '../../app.ts';
import { EXIT, renderSize, visible, visibleLine } from '../../base/index.ts';
import { type Argument, type Command, columns, type Option } from '../command.ts';
import { withSkillbox } from '../connect.ts';
import type { Io } from '../io.ts';

const NAME: Argument = { name: 'NAME', help: 'what skills call it, such as tools:1.2', required: true, many: false };
const JSON_OPTION: Option = { help: 'print one JSON document' };
const REDRAW_MS = 100;
const REPORT_MS = 5000;

export const imageImport: Command = {
  name: 'image import',
  summary: 'Unpack an image once, so that skills that name it run in it. Nothing is downloaded, no daemon is needed.',
  args: [
    NAME,
    {
      name: 'TARFILE|OCI-DIR',
      help: 'from docker save, docker export, podman save or skopeo copy',
      required: true,
      many: false,
    },
  ],
  options: { json: JSON_OPTION },
  examples: [
    'docker save python:3.12-slim -o python.tar && skillbox image import python:3.12-slim python.tar',
    'skopeo copy docker://alpine:3.20 oci:alpine && skillbox image import alpine:3.20 alpine',
  ],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const [name = '', path = ''] = input.args;
      const json = input.flag('json');
      const progress = json ? null : showProgress(io);
      try {
        const { image, notes } = await skillbox.importImage(name, resolve(io.cwd, path), {
          onProgress: step => progress?.update(step),
          signal: io.interrupt,
        });
        progress?.end();
        if (json) io.out(`${JSON.stringify({ image: toJson(image), notes }, null, 2)}\n`);
        else {
          io.out(
            `${io.paint('green', '✔')} ${visibleLine(image.name)} ${renderSize(image.bytes)} sha256:${image.digest}\n`,
          );
          for (const note of notes) io.err(`${io.paint('yellow', 'note')}: ${visible(note)}\n`);
        }
        return EXIT.ok;
      } finally {
        progress?.end();
      }
    }),
};

export const imageList: Command = {
  name: 'image list',
  summary: 'List the imported images.',
  args: [],
  options: { json: JSON_OPTION },
  examples: [],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const images = await skillbox.listImages();
      if (input.flag('json')) io.out(`${JSON.stringify({ images: images.map(toJson) }, null, 2)}\n`);
      else if (images.length === 0) io.err('There are no images yet; see `skillbox image import --help`.\n');
      else {
        const rows = images.map(({ name, digest, bytes, createdAt, source }): [string, string] => [
          visibleLine(name),
          `${renderSize(bytes).padStart(10)}  sha256:${digest.slice(0, 12)}  ${new Date(createdAt).toISOString().slice(0, 16).replace('T', ' ')}  ${visibleLine(source)}`,
        ]);
        io.out(`${columns(rows).join('\n')}\n`);
      }
      return EXIT.ok;
    }),
};

export const imageRemove: Command = {
  name: 'image remove',
  summary: 'Remove an image, unless a run uses it.',
  args: [NAME],
  options: { json: JSON_OPTION },
  examples: ['skillbox image remove tools:1.2'],
  run: (input, io) =>
    withSkillbox(io, async skillbox => {
      const image = await skillbox.removeImage(input.args[0] ?? '');
      if (input.flag('json')) io.out(`${JSON.stringify({ removed: toJson(image) })}\n`);
      else io.out(`removed ${visibleLine(image.name)}\n`);
      return EXIT.ok;
    }),
};

function toJson({ name, digest, bytes, entries, source, form, createdAt }: Image): object {
  const created = new Date(createdAt).toISOString();
  return { name, digest: `sha256:${digest}`, bytes, entries, source, form, created };
}

/** A line redrawn in place for a person; for a log, a line now and then when it takes long. */
function showProgress(io: Io): { update(progress: ImportProgress): void; end(): void } {
  let last = io.interactive ? 0 : Date.now();
  let drawn = false;
  return {
    update({ step, layer, layers, bytes }) {
      if (Date.now() - last < (io.interactive ? REDRAW_MS : REPORT_MS)) return;
      last = Date.now();
      const text = `${step}${layers > 0 ? ` layer ${layer} of ${layers}` : ''}, ${renderSize(bytes)}`;
      io.err(io.interactive ? `\r\u001b[K${text}` : `${text}\n`);
      drawn = io.interactive;
    },
    end() {
      if (drawn) io.err('\r\u001b[K');
      drawn = false;
    },
  };
}
