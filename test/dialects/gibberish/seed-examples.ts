/** The bodies of the seed's complete examples (section 8), as they stand there. */
export const GIT = `
### git_status

Show the current git status with short format.

#### Parameters

None.

#### Command

\`\`\`bash
git status --short --branch
\`\`\`

### git_log

Show recent commit history.

#### Parameters

| Name | Type | Required | Description |
|------|------|----------|-------------|
| count | integer | no | Number of commits (default: 10) |

#### Command

\`\`\`bash
git log --oneline -n {{count}}
\`\`\`

### git_diff

Show uncommitted changes.

#### Parameters

| Name | Type | Required | Description |
|------|------|----------|-------------|
| staged | boolean | no | Show only staged changes |

#### Command

\`\`\`bash
git diff {{staged:--staged}}
\`\`\`
`;

export const SUMMARIZE = `
### summarize_url

Fetch and summarize a webpage.

#### Parameters

| Name | Type | Required | Description |
|------|------|----------|-------------|
| url | string | yes | The URL to summarize |

#### Command

\`\`\`bash
npx @anthropic-ai/summarize {{url}}
\`\`\`
`;

export const DEPLOY = `
### deploy_preview

Deploy a preview build to Vercel.

#### Parameters

| Name | Type | Required | Description |
|------|------|----------|-------------|
| message | string | no | Deployment message |

#### Command

\`\`\`bash
./scripts/deploy.sh preview {{message}}
\`\`\`
`;
