import { endpoint, type Provider, shipped } from '../provider.ts';

const OUT = { carriesOut: true, limits: { requests: 100 } };

export const github: Provider = shipped('github', 'GitHub', 'api.github.com', { form: 'bearer' }, [
  endpoint('repos.read', 'read repositories, their files, issues and pull requests', [
    'GET /repos/*/*',
    'GET /repos/*/*/**',
  ]),
  endpoint('repos.list', 'list repositories', ['GET /user/repos', 'GET /users/*/repos', 'GET /orgs/*/repos']),
  endpoint('search.read', 'search code, issues and repositories', 'GET /search/*'),
  endpoint('user.read', 'read its own account', 'GET /user'),
  endpoint('issues.create', 'open issues', 'POST /repos/*/*/issues', OUT),
  endpoint('issues.update', 'change issues', 'PATCH /repos/*/*/issues/*', OUT),
  endpoint('issues.comment', 'comment on issues and pull requests', 'POST /repos/*/*/issues/*/comments', OUT),
  endpoint('pulls.create', 'open pull requests', 'POST /repos/*/*/pulls', OUT),
  endpoint('contents.write', 'write files into repositories', 'PUT,DELETE /repos/*/*/contents/**', OUT),
  endpoint('releases.create', 'publish releases', 'POST /repos/*/*/releases', OUT),
  endpoint('gists.read', 'read gists', ['GET /gists', 'GET /gists/*']),
  endpoint('gists.create', 'create gists', 'POST /gists', OUT),
]);

export const gitlab: Provider = shipped('gitlab', 'GitLab', 'gitlab.com', { form: 'header', name: 'private-token' }, [
  endpoint('projects.read', 'read projects, their files, issues and merge requests', [
    'GET /api/v4/projects',
    'GET /api/v4/projects/*',
    'GET /api/v4/projects/*/**',
  ]),
  endpoint('user.read', 'read its own account', 'GET /api/v4/user'),
  endpoint('issues.create', 'open issues', 'POST /api/v4/projects/*/issues', OUT),
  endpoint('issues.comment', 'comment on issues', 'POST /api/v4/projects/*/issues/*/notes', OUT),
  endpoint('merge-requests.create', 'open merge requests', 'POST /api/v4/projects/*/merge_requests', OUT),
  endpoint(
    'merge-requests.comment',
    'comment on merge requests',
    'POST /api/v4/projects/*/merge_requests/*/notes',
    OUT,
  ),
  endpoint('commits.create', 'write files into repositories', 'POST /api/v4/projects/*/repository/commits', OUT),
  endpoint('snippets.create', 'create snippets', ['POST /api/v4/snippets', 'POST /api/v4/projects/*/snippets'], OUT),
]);
