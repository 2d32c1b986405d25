import { expect } from 'chai'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { cleanEnv, exitOf, firstLine, startProgram } from '../helpers/program.ts'

describe('a command whose server hangs', () => {
  let home: string
  let server: Server
  const sockets = new Set<Socket>()
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'cli-hung-'))
    server = createServer(socket => {
      sockets.add(socket)
      socket.on('error', () => {}).resume()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await rm(home, { recursive: true, force: true })
  })

  it('says on stderr whom it waits for, and waits on', async () => {
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = cleanEnv({
      HOME: home,
      XDG_CONFIG_HOME: home,
      SERVICE_HOST_URL: `http://${host}/host`,
      SERVICE_HOST_TOKEN: 't'.repeat(32),
      SERVICE_REGISTRY: `http://${host}`,
      SERVICE_TOKEN: 't'.repeat(32),
    })
    const commands = [
      ['resources', 'list', '--json', `--url=http://${host}/mcp`],
      ['checkpoint', 'before'],
      ['whoami', '--quiet'],
    ]
    // Its answer usually takes longer: the server waits until the scene has settled.
    const answering = startProgram(['notes', 'answer', '1', 'done'], { env })
    const early: string[] = []
    answering.stderr?.on('data', chunk => early.push(String(chunk)))
    await once(server, 'connection')
    const children = commands.map(words => startProgram(words, { env }))
    try {
      const lines = await Promise.all(children.map(({ stderr }) => firstLine(stderr)))
      const line = `warning: still waiting for ${host}, which has not answered for 5 s`
      expect(lines).to.deep.equal(Array(3).fill(line))
      expect(early).to.deep.equal([])
      expect(children.map(({ exitCode }) => exitCode)).to.deep.equal([null, null, null])
    } finally {
      const all = [...children, answering]
      for (const child of all) child.kill()
      await Promise.all(all.map(exitOf))
    }
  })
})
