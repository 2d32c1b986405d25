import { expect } from 'chai'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { runCommand } from '../helpers/in-process.ts'
import { until } from '../helpers/until.ts'
import { type ForeignServer, noteUri, pictureBytes, startForeign } from './foreign-server.ts'
import { Screen } from './screen.ts'

describe('service-cli resources at a server of the SDK', () => {
  let server: ForeignServer
  const run = (...args: string[]) => runCommand(['resources', ...args, `--url=${server.url}`])
  afterEach(() => server.close())

  it('lists, reads text and bytes, and watches with 2026-07-28', async () => {
    server = await startForeign()
    const list = await run('list')
    expect(list.stdout, list.stderr).to.contain(noteUri).and.contain('file:///a/shot.png')
    expect((await run('list', '--templates')).stdout).to.contain('user://{id}')
    expect((await run('read', noteUri)).stdout).to.equal('first\nsecond')
    const home = newFolder()
    const out = join(home, 'shot.png')
    await run('read', 'file:///a/shot.png', '--out', out)
    expect((await readFile(out)).equals(pictureBytes)).to.equal(true)
    const missing = await run('read', 'user://7')
    expect(missing.code).to.equal(3)
    expect(missing.stderr).to.contain('user://7')
    const screen = new Screen()
    const words = ['resources', 'watch', noteUri, `--url=${server.url}`]
    const watching = runCommand(words, { stdout: screen })
    await until(() => screen.lines().length > 0, 'the first line')
    server.write('first\nchanged')
    await until(() => screen.lines().length > 1, 'the change')
    process.emit('SIGHUP')
    expect((await watching).code).to.equal(0)
    expect(screen.lines()[1]).to.match(/ {2}13 B of text\/plain$/)
  })
})
