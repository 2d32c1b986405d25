import { execFile } from 'node:child_process'
import { skipBecause } from '../helpers/skip.ts'
import type { Call } from './stub-model.ts'

/** Switches off updates, and the question whether the folder is trusted. */
const quiet = {
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  COPILOT_AUTO_UPDATE: 'false',
  GEMINI_CLI_TRUST_WORKSPACE: 'true',
  OPENCODE_DISABLE_AUTOUPDATE: '1',
  OPENCODE_DISABLE_MODELS_FETCH: '1',
}

/** All that the program says; the test is skipped when there is no such program in PATH. */
export function runProgram(
  context: Mocha.Context,
  [program, ...args]: [program: string, ...args: string[]],
  { home, ...variables }: { home: string } & Record<string, string>,
): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, ...quiet, ...variables }
  const options = { cwd: home, env, timeout: 120_000, maxBuffer: 16 * 1024 * 1024 }
  return new Promise((resolve, reject) => {
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error?.code !== 'ENOENT') return resolve(stdout + stderr)
      try {
        skipBecause(context, `${program} is not in PATH`)
      } catch (skipped) {
        reject(skipped)
      }
    })
    child.stdin?.end()
  })
}

/** A program with a model behind it: how it is set up, started and asked to call a tool. */
export interface Program {
  title: string
  bin: string
  /** Its name for `mcp-config`. */
  client: string
  /** A file below its home folder that exists before `mcp-config` adds the entry. */
  settings?: (stub: string) => [path: string, text: string]
  environment?: (stub: string) => Record<string, string>
  /** Arguments for one turn without a terminal and without questions, with spaces between them. */
  args: string
  call: (entry: string, tool: string, args: object) => Call
  /** Its own tool that reads a resource. */
  read?: (server: string, uri: string) => Call
  /** Pictures reach no model in this set-up. */
  isBlind?: true
}

const key = 'a-key-of-nothing'
const json = (value: unknown) => JSON.stringify(value)

const codex = (title: string, model: string): Omit<Program, 'call'> => ({
  title,
  bin: 'codex',
  client: 'codex',
  settings: stub => [
    '.codex/config.toml',
    `model = "${model}"
model_provider = "stub"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.stub]
name = "stub"
base_url = "${stub}/v1"
wire_api = "responses"
env_key = "STUB_KEY"
`,
  ],
  environment: () => ({ STUB_KEY: key }),
  args: 'exec --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox go',
})

/** What a model writes for each text and picture of a result. */
const printAll = 'for (const c of r.content) c.type === "image" ? image(c) : text(c.text)'

export const programs: Program[] = [
  {
    title: 'Claude Code',
    bin: 'claude',
    client: 'claude-code',
    environment: stub => ({ ANTHROPIC_BASE_URL: stub, ANTHROPIC_API_KEY: key }),
    args: '-p go --allowedTools ReadMcpResourceTool mcp__blender mcp__keyed mcp__bridged',
    read: (server, uri) => ({ name: 'ReadMcpResourceTool', args: { server, uri } }),
    call: (entry, tool, args) => ({ name: `mcp__${entry}__${tool}`, args }),
  },
  {
    ...codex('Codex, gpt-5.5', 'gpt-5.5'),
    call: (entry, name, args) => ({ name, namespace: `mcp__${entry}`, args }),
    read: (server, uri) => ({ name: 'read_mcp_resource', args: { server, uri } }),
  },
  {
    ...codex('Codex, gpt-6-sol (calls from JavaScript)', 'gpt-6-sol'),
    call: (entry, tool, args) => ({
      name: 'exec',
      args: `const r = await tools.mcp__${entry}__${tool}(${json(args)}); ${printAll}`,
    }),
    read: (server, uri) => ({
      name: 'exec',
      args: `text(await tools.read_mcp_resource(${json({ server, uri })}))`,
    }),
  },
  {
    title: 'Qwen Code',
    bin: 'qwen',
    client: 'qwen-code',
    environment: stub => ({
      OPENAI_BASE_URL: `${stub}/v1`,
      OPENAI_API_KEY: key,
      // Pictures reach only models that it knows to see.
      OPENAI_MODEL: 'gpt-4o',
    }),
    args: '--auth-type openai --approval-mode yolo -p go',
    call: (entry, tool, args) => ({
      name: 'tool_call',
      args: { name: `mcp__${entry}__${tool}`, arguments: args },
    }),
  },
  {
    title: 'opencode',
    bin: 'opencode',
    client: 'opencode',
    settings: stub => {
      const modalities = { input: ['text', 'image'], output: ['text'] }
      const limit = { context: 200_000, output: 8_000 }
      const stubModel = { name: 'stub', tool_call: true, attachment: true, modalities, limit }
      const options = { baseURL: `${stub}/v1`, apiKey: key }
      const provider = { npm: '@ai-sdk/openai-compatible', options, models: { stub: stubModel } }
      const settings = { model: 'stub/stub', autoupdate: false, provider: { stub: provider } }
      return ['.config/opencode/opencode.jsonc', json(settings)]
    },
    args: 'run go',
    call: (entry, tool, args) => ({ name: `${entry}_${tool}`, args }),
    read: (server, uri) => ({ name: 'read_mcp_resource', args: { server, uri } }),
  },
  {
    title: 'Gemini CLI',
    bin: 'gemini',
    client: 'gemini-cli',
    settings: () => [
      '.gemini/settings.json',
      json({
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      }),
    ],
    environment: stub => ({ GOOGLE_GEMINI_BASE_URL: stub, GEMINI_API_KEY: key }),
    args: '-p go --approval-mode yolo -m gemini-2.5-pro',
    call: (entry, tool, args) => ({ name: `mcp_${entry}_${tool}`, args }),
    read: (_server, uri) => ({ name: 'read_mcp_resource', args: { uri } }),
  },
  {
    title: 'Copilot CLI',
    bin: 'copilot',
    client: 'copilot-cli',
    environment: stub => ({
      COPILOT_OFFLINE: 'true',
      COPILOT_MODEL: 'stub',
      COPILOT_PROVIDER_BASE_URL: `${stub}/v1`,
      COPILOT_PROVIDER_API_KEY: key,
    }),
    args: '-p go --allow-all-tools',
    call: (entry, tool, args) => ({ name: `${entry}-${tool}`, args }),
    isBlind: true,
  },
]
