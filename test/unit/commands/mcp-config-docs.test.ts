import { expect } from 'chai'
import { mkdtempSync, readFileSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runMcpConfig } from '../../../src/commands/mcp-config/run.ts'
import type { McpConfigFlags } from '../../../src/commands/mcp-config/settings.ts'
import { clients } from '../../../src/lib/mcp/settings/clients.ts'
import { root } from '../../helpers/program.ts'

const readDoc = (name: string) => readFileSync(join(root, 'docs', name), 'utf8')

const [, section = ''] = readDoc('clients.md').split('\nExact lines,')
/** The block below the bold name of a client. */
const blocks = [
  ...section.matchAll(/\n\*\*([^*]+)\*\*[^`]*(?:`[^`\n]+`[^`]*)*```(\w+)\n([^]*?)\n```/g),
].map(([, title = '', form = '', text = '']) => ({ title, form, text }))

/** The set-up commands of the table in docs/agents.md. */
const setUps = [
  ...readDoc('agents.md').matchAll(
    /\n\| ([\w ]+) \| `service-cli mcp-config (\S+)( --write)?` \|/g,
  ),
].map(([, title = '', id = '', write]) => ({ title, id, writes: write !== undefined }))

describe('what the docs tell users to set up', () => {
  const home = mkdtempSync(join(tmpdir(), 'mcp-config-docs-'))
  const registryDir = join(home, 'registry')
  before(() => mkdir(registryDir, { mode: 0o700 }))
  after(() => rm(home, { recursive: true, force: true }))

  /** For a server of Blender on the default port. */
  async function say(id: string, flags: Partial<McpConfigFlags> = {}, platform = 'linux') {
    const said = { out: '', err: '' }
    const given: McpConfigFlags = {
      scope: 'user',
      stdio: false,
      write: false,
      force: false,
      json: false,
      quiet: false,
      url: 'http://127.0.0.1:8765/mcp',
      name: 'blender',
      auth: 'none',
      'registry-dir': registryDir,
      ...flags,
    }
    await runMcpConfig(id, given, {
      place: { platform: platform as NodeJS.Platform, env: {}, home, cwd: home },
      stdout: { write: (text: string) => (said.out += text) },
      stderr: { write: (text: string) => (said.err += text) },
    })
    return said
  }

  const idOf = (title: string) => clients.find(client => client.title === title)?.id ?? title

  it('has a block for most clients', () => {
    expect(blocks.map(({ title }) => idOf(title))).to.include.members([
      'claude-code',
      'cursor',
      'vscode',
      'codex',
      'opencode',
      'qwen-code',
      'copilot-cli',
      'cline',
      'continue',
      'goose',
      'amp',
      'inspector',
    ])
    expect(setUps).to.have.length(10)
  })

  for (const { title, form, text } of blocks) {
    const [, line = '', more] = /^([^#\n]+?)(?:\s+# \[ (.+) \])?$/.exec(text) ?? []
    it(`shows for ${title} what mcp-config prints`, async () => {
      const id = idOf(title)
      const auth = text.includes('SERVICE_MCP_API_KEY') ? 'api-key' : 'none'
      if (form === 'json') {
        const { out } = await say(id, { auth })
        expect(JSON.parse(text)).to.deep.equal(JSON.parse(out))
      } else if (form === 'yaml') {
        expect((await say(id)).out.trim()).to.equal(text)
      } else if (line.startsWith('service-cli mcp-config')) {
        expect(line).to.match(new RegExp(`^service-cli mcp-config ${id} --write`))
      } else {
        expect((await say(id)).err).to.include(line)
        if (more !== undefined) expect((await say(id, { auth })).err).to.include(more)
      }
    })
  }

  for (const { title, id, writes } of setUps) {
    it(`sets up ${title}, or prints what to paste`, async () => {
      expect(idOf(title)).to.equal(id)
      // It exists nowhere else.
      const platform = id === 'claude-desktop' ? 'darwin' : 'linux'
      const { out } = await say(id, { write: writes }, platform)
      expect(out).to.match(writes ? /^added the entry blender in / : /blender/)
    })
  }
})
