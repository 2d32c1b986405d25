import { expect } from 'chai'
import type { ChildProcess } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../helpers/in-process.ts'
import { exitOf } from '../helpers/program.ts'
import { until } from '../helpers/until.ts'
import { hello, useServers } from './stdio-servers.ts'

describe('service-cli over stdio', () => {
  const { stateDir, serve, start } = useServers()

  const instances = async () =>
    (await readdir(join(stateDir(), 'instances'))).filter(name => name.endsWith('.json'))

  async function endOf(child: ChildProcess): Promise<number | null> {
    child.stdin?.end()
    return exitOf(child)
  }

  it('starts a server when none runs; another client joins it and replaces it after its end', async () => {
    const first = start('serve', '--stdio', '--log-level', 'debug')
    first.child.stdin?.write('what is no message\n')
    first.send(hello)
    expect((await first.answer(1)).result.serverInfo.name).to.equal('service-cli')
    const startedBy = ({ out }: typeof first) =>
      until(
        () => out.stderr.includes('started a server that ends with this client'),
        'the line on stderr',
      )
    await startedBy(first)
    expect(await instances()).to.have.length(1)
    const second = start('serve', '--stdio', '--name', 'mine', '--bound=takeoverMs=100')
    second.send(hello)
    await second.answer(1)
    const joined = () => second.out.stderr.includes('joined the running server')
    await until(() => joined() && second.out.stderr.includes('--name'), 'the lines on stderr')
    second.send({ method: 'notifications/initialized' })
    second.send({ id: 2, method: 'resources/subscribe', params: { uri: 'scene://current' } })
    await second.answer(2)
    expect(await endOf(first.child)).to.equal(0)
    expect(first.lines().map(({ id, error }) => error?.code ?? id)).to.deep.equal([-32700, 1])
    const told = () => second.lines().some(({ method }) => method?.endsWith('updated'))
    await until(told, 'the update of its own server')
    await startedBy(second)
    expect(await endOf(second.child)).to.equal(0)
    expect(await instances()).to.have.length(0)
  })

  it('returns to the replaced server when that is back', async () => {
    const first = await serve('--dcc-type', 'blender')
    const program = start('serve', '--stdio', '--bound=takeoverMs=100')
    program.send(hello)
    await program.answer(1)
    program.send({ method: 'notifications/initialized' })
    program.send({ id: 2, method: 'resources/subscribe', params: { uri: 'scene://current' } })
    await program.answer(2)
    await first.stop()
    const said = (text: string) => program.out.stderr.split(text).length - 1
    await until(() => said('started a server that ends with this client') === 1, 'its own server')
    const second = await serve('--dcc-type', 'blender')
    await until(() => said('connected to the server again') === 2, 'the way back')
    await until(async () => (await instances()).length === 1, 'the end of its own server')
    const updates = () => program.lines().filter(({ method }) => method?.endsWith('updated')).length
    const before = updates()
    await second.post('scene', { objects: ['Cube'] })
    await until(() => updates() > before, 'the update of the server that returned')
    program.send({ id: 3, method: 'resources/read', params: { uri: 'scene://current' } })
    expect((await program.answer(3)).result.contents[0].text).to.contain('Cube')
    expect(await endOf(program.child)).to.equal(0)
  })

  it('starts one server for clients that start together', async () => {
    const programs = [start('serve', '--stdio'), start('serve', '--stdio')]
    for (const program of programs) program.send(hello)
    for (const program of programs) await program.answer(1)
    expect(await instances()).to.have.length(1)
    for (const { child } of programs) expect(await endOf(child)).to.equal(0)
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`exits 0 on ${signal} and ends its session`, async () => {
      const server = await serve('--log-level', 'info')
      const program = start('connect')
      program.send(hello)
      await program.answer(1)
      program.child.kill(signal)
      expect(await exitOf(program.child)).to.equal(0)
      const told = '"method":"DELETE","path":"/mcp","status":204'
      await until(() => server.output().stderr.includes(told), 'the farewell')
    })
  }

  it('exits when the client closes stdout, and on SIGTERM while the client does not read', async () => {
    const gone = start('serve', '--stdio')
    gone.send(hello)
    await gone.answer(1)
    gone.child.stdout?.destroy()
    gone.child.stdin?.write('what needs an answer\n')
    expect(await exitOf(gone.child)).to.equal(0)

    const stuck = start('serve', '--stdio', '--bound=maxWaitingMessages=10')
    stuck.child.stdin?.on('error', () => {})
    stuck.send(hello)
    await stuck.answer(1)
    stuck.child.stdout?.pause()
    stuck.child.stdin?.write('what needs an answer\n'.repeat(50_000))
    const blocked = () => (stuck.child.stdin?.writableLength ?? 0) > 0
    await until(blocked, 'the client to wait')
    stuck.child.kill('SIGTERM')
    expect(await exitOf(stuck.child)).to.equal(0)
  })

  it('exits 5 without output on stdout when no server runs', async () => {
    const ended = await runCommand(['connect', '--registry-dir', stateDir()])
    expect(ended).to.deep.include({ code: 5, stdout: '' })
    expect(ended.stderr).to.contain('no service-cli serve of yours is running')
  })
})
