import { endpoint, type Provider, shipped } from '../provider.ts';

const OUT = { carriesOut: true, limits: { requests: 100 } };

export const notion: Provider = shipped('notion', 'Notion', 'api.notion.com', { form: 'bearer' }, [
  endpoint('search', 'search pages and databases that are shared with it', 'POST /v1/search'),
  endpoint('pages.read', 'read pages and their blocks', [
    'GET /v1/pages/*',
    'GET /v1/pages/*/properties/*',
    'GET /v1/blocks/*',
    'GET /v1/blocks/*/children',
  ]),
  endpoint('pages.create', 'create pages', 'POST /v1/pages', OUT),
  endpoint('pages.update', 'change pages and blocks', ['PATCH /v1/pages/*', 'PATCH,DELETE /v1/blocks/*'], OUT),
  endpoint('blocks.append', 'add blocks to pages', 'PATCH /v1/blocks/*/children', OUT),
  endpoint('databases.read', 'read and query databases', [
    'GET /v1/databases/*',
    'POST /v1/databases/*/query',
    'GET /v1/data_sources/*',
    'POST /v1/data_sources/*/query',
  ]),
  endpoint('comments.read', 'read comments', 'GET /v1/comments'),
  endpoint('comments.create', 'write comments', 'POST /v1/comments', OUT),
  endpoint('users.read', 'read who is in the workspace', ['GET /v1/users', 'GET /v1/users/*']),
]);
