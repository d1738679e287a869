import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ApiDocument } from '../../src/api/document.ts';
import { apiContract } from '../contracts/api.ts';
import { GOOD, operationsOf } from './operations.ts';
import { worldStage } from './world.ts';

let stage: Awaited<ReturnType<typeof worldStage>>;
let document: ApiDocument;
beforeAll(async () => {
  stage = await worldStage();
  document = (await stage.inject({ method: 'GET', url: '/openapi.json' })).json();
});
afterAll(() => stage.close());

describe('the document', () => {
  it('is OpenAPI 3.1, and valid', async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
  });

  it('names every route under /v1 and the index, and no other', () => {
    const documented = operationsOf(document).map(({ method, path }) => `${method} ${path}`);
    const there = stage.routes.map(
      ({ method, url }) => `${method} ${url.replace(/:(\w+)/g, '{$1}').replace('*', '{path}')}`,
    );
    expect(there.filter(route => / \/(v1|\.well-known)\//.test(route)).sort()).toEqual(documented.sort());
    const ids = operationsOf(document).map(({ id }) => id);
    expect(Object.keys(GOOD).sort()).toEqual(ids.sort());
  });

  it('the page shows all of it, starts nothing and loads nothing', async () => {
    const page = await stage.inject({ method: 'GET', url: '/docs' });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    const policy = String(page.headers['content-security-policy']);
    expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[A-Za-z0-9+/=]+'; frame-ancestors 'none'$/);
    expect(page.body).not.toMatch(/<script|<link|<img|src=|url\(|@import|\son[a-z]+=/i);
    for (const { id } of operationsOf(document)) expect(page.body).toContain(`id="${id}"`);
    // Every link leads somewhere on the page, and every operation says which keys may.
    const ids = new Set([...page.body.matchAll(/ id="([^"]+)"/g)].map(match => match[1]));
    const links = [...page.body.matchAll(/ href="#([^"]+)"/g)].map(match => match[1]);
    expect(links.length).toBeGreaterThan(20);
    expect(links.filter(link => !ids.has(link))).toEqual([]);
    const createExecution = page.body.split('id="createExecution"')[1]?.split('</details>')[0] ?? '';
    expect(createExecution).toContain('for keys with the scope run');
    expect(createExecution).toMatch(/<code>skill<\/code><\/td><td>string<\/td>/);
    expect(createExecution).toMatch(
      /<code>version<\/code><\/td><td>string or null <i>optional<\/i><\/td><td>a version, a range/,
    );
    expect(page.body).not.toContain('undefined');
  });
});

apiContract('over a service of plain maps', worldStage, { shots: 40 });
