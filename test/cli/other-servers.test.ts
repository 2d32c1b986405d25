import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { atEnd, newFolder } from '../helpers/cleanup.ts'
import { expectEnd, runCommand } from '../helpers/in-process.ts'
import { until } from '../helpers/until.ts'
import { Screen } from './screen.ts'
import { createServer } from 'node:http'
import { getRequestListener } from '@hono/node-server'
import {
  createMcpHandler,
  McpServer,
  ResourceNotFoundError,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { listening } from '../helpers/listening.ts'

describe('service-cli resources at a server of the SDK', () => {
  it('lists, reads text and bytes, and watches with 2026-07-28', async () => {
    const { url, write } = await startForeign()
    const run = (...args: string[]) => runCommand(['resources', ...args, `--url=${url}`])
    const list = await run('list')
    expect(list.stdout, list.stderr).to.contain(noteUri).and.contain('file:///a/shot.png')
    expect((await run('list', '--templates')).stdout).to.contain('user://{id}')
    expect((await run('read', noteUri)).stdout).to.equal('first\nsecond')
    const out = join(newFolder(), 'shot.png')
    await run('read', 'file:///a/shot.png', '--out', out)
    expect((await readFile(out)).equals(pictureBytes)).to.equal(true)
    expectEnd(await run('read', 'user://7'), 3, 'user://7')
    const screen = new Screen()
    const words = ['resources', 'watch', noteUri, `--url=${url}`]
    const watching = runCommand(words, { stdout: screen })
    await until(() => screen.lines().length > 0, 'the first line')
    write('first\nchanged')
    await until(() => screen.lines().length > 1, 'the change')
    process.emit('SIGHUP')
    expect((await watching).code).to.equal(0)
    expect(screen.lines()[1]).to.match(/ {2}13 B of text\/plain$/)
  })
})

const noteUri = 'note://today'
const pictureBytes = Buffer.from([0x89, 0x50, 0, 255])

/** A server of the official SDK with one text, one picture and a template. Serves 2026-07-28 alone. */
async function startForeign() {
  let note = 'first\nsecond'

  function create(): McpServer {
    const mcp = new McpServer(
      { name: 'foreign', version: '1' },
      { capabilities: { resources: { subscribe: true, listChanged: true } } },
    )
    mcp.registerResource('note', noteUri, { mimeType: 'text/plain' }, url => ({
      contents: [{ uri: url.href, mimeType: 'text/plain', text: note }],
    }))
    mcp.registerResource('picture', 'file:///a/shot.png', { mimeType: 'image/png' }, url => ({
      contents: [{ uri: url.href, mimeType: 'image/png', blob: pictureBytes.toString('base64') }],
    }))
    const template = new ResourceTemplate('user://{id}', { list: undefined })
    mcp.registerResource('user', template, {}, url => {
      throw new ResourceNotFoundError(url.href)
    })
    return mcp
  }

  const modern = createMcpHandler(create, { legacy: 'reject' })
  const serve = (request: Request) => modern.fetch(request)
  const server = createServer(getRequestListener(serve, { overrideGlobalObjects: false }))
  atEnd(() => modern.close())
  return {
    url: `http://127.0.0.1:${await listening(server)}/mcp`,
    /** Changes the text and notifies its subscribers. */
    write(text: string) {
      note = text
      modern.notify.resourceUpdated(noteUri)
    },
  }
}
