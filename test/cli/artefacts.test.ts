import { expect } from 'chai'
import { createHash, randomBytes } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { newFolder } from '../helpers/cleanup.ts'
import { serveInProcess } from '../helpers/in-process-servers.ts'
import { expectEnd, runCommand } from '../helpers/in-process.ts'
import type { Ended } from '../helpers/program.ts'
import type { RunningServe } from '../helpers/serve-process.ts'
import { listening } from '../helpers/listening.ts'

const hashOf = (bytes: Buffer | string) => createHash('sha256').update(bytes).digest('hex')

describe('service-cli artefacts', () => {
  let home: string
  let serve: RunningServe
  const bytes = randomBytes(3_000_000)
  const hex = hashOf(bytes)
  const path = (name: string) => join(home, name)
  const run = (...args: string[]): Promise<Ended> =>
    runCommand(['artefacts', ...args, `--registry-dir=${serve.registryDir}`])

  before(async () => {
    serve = await serveInProcess()
  })
  beforeEach(async () => {
    home = newFolder()
    await writeFile(path('shot.exr'), bytes)
  })

  it('puts a file, lists it, fetches it and removes it', async () => {
    const put = await run('put', path('shot.exr'), '--metadata={"frame":24}', '--json')
    expect(put.code, put.stderr).to.equal(0)
    const uri = `artefact://sha256/${hex}`
    const stored = { put_ok: true, uri, sha256: hex, size_bytes: bytes.length, existed: false }
    expect(JSON.parse(put.stdout)).to.deep.equal(stored)
    const list = JSON.parse((await run('list', '--json')).stdout)
    expect(list.artefacts[0]).to.deep.include({
      sha256: hex,
      display_name: 'shot.exr',
      mime: 'image/x-exr',
      size_bytes: bytes.length,
      metadata: { frame: 24 },
      instance_id: serve.instanceId,
      dcc_type: 'unknown',
    })
    expect(list.artefacts[0].created_at).to.match(/^\d{4}-.*Z$/)
    expect((await run('list')).stdout).to.match(new RegExp(`${hex.slice(0, 12)} .* by limit$`, 'm'))
    const out = path('out/')
    await mkdir(out)
    expectEnd(await run('get', hex.slice(0, 10), '--out', out), 0)
    expect((await readFile(path('out/shot.exr'))).equals(bytes)).to.equal(true)
    expect((await run('get', 'shot.exr', '--out', out)).stdout).to.contain('shot-2.exr, 3.0 MB')
    expect((await run('rm', hex.slice(0, 10))).stdout).to.equal(`removed ${uri}\n`)
    const gone = await run('get', hex)
    expect(gone.code).to.equal(3)
    expect(gone.stderr).to.match(new RegExp(`^error: no artefact ${hex} is stored\n`))
  })

  it('leaves no file when the transfer is cut or the bytes are wrong', async () => {
    let cut = true
    const server = createServer((_, res) => {
      if (!cut) return void res.end('other bytes')
      res.writeHead(200, { 'Content-Length': bytes.length })
      res.write(bytes.subarray(0, 1_000_000), () => res.destroy())
    })
    const url = `http://127.0.0.1:${await listening(server)}/mcp`
    const get = () => runCommand(['artefacts', 'get', hex, '--url', url, '--out', path('a.bin')])
    expectEnd(await get(), 5, 'the download is incomplete: the connection was cut')
    cut = false
    expectEnd(await get(), 1, `the received bytes do not match ${hex}`)
    expect(await readdir(home)).to.deep.equal(['shot.exr'])
  })

  it('replaces no file unless it is told to', async () => {
    await serve.store('one')
    await writeFile(path('mine'), 'mine')
    const get = ['get', hashOf('one'), '--out', path('mine')]
    expect((await run(...get)).code).to.equal(1)
    expect(await readFile(path('mine'), 'utf8')).to.equal('mine')
    expect((await run(...get, '--force')).code).to.equal(0)
    expect(await readFile(path('mine'), 'utf8')).to.equal('one')
  })

  it('takes a name that one artefact has, and says which artefacts have it', async () => {
    const store = (text: string) => serve.store(text, '?display_name=frame.png')
    const hashes = [await store('one frame')]
    const get = () => run('get', 'frame.png', '--out', home)
    await get()
    expect(await readFile(path('frame.png'), 'utf8')).to.equal('one frame')
    hashes.push(await store('another frame'))
    const { code, stderr } = await get()
    expect(code).to.equal(2)
    expect(stderr).to.contain('"frame.png" is 2 artefacts')
    for (const each of hashes) expect(stderr).to.contain(each.slice(0, 12))
  })

  it('refuses an address, what is no file and what is not stored', async () => {
    const rows: [args: string[], code: number, text: string][] = [
      [['put', path('shot.exr'), `--url=${serve.url}`], 2, 'nonexistent flag --url'],
      [['put', path('shot.exr'), path('b.png')], 2, 'it takes one FILE at a time'],
      [['rm', hex, `--url=${serve.url}`], 2, 'nonexistent flag --url'],
      [['put', path('nothing')], 2, 'cannot be read'],
      [['put', home], 2, 'is a folder'],
      [['put', path('shot.exr'), '--metadata={'], 2, 'is not JSON'],
      [['get', 'abc'], 3, 'no artefact abc is stored'],
      [['get', 'ffff'], 3, 'no artefact ffff'],
    ]
    for (const [args, code, text] of rows) {
      const ended = await run(...args)
      expect([ended.code, ended.stdout], args.join(' ')).to.deep.equal([code, ''])
      expect(ended.stderr).to.contain(text)
    }
  })

  it('resources read saves what is no text for a terminal, and passes it on raw to a pipe', async () => {
    await serve.store(bytes, '', 'image/png')
    const terminal = () => Object.assign(createWriteStream(path('screen')), { isTTY: true })
    const read = ['resources', 'read', `artefact://sha256/${hex}`, `--url=${serve.url}`]
    const cwd = process.cwd()
    process.chdir(home)
    try {
      const saved = await runCommand(read, { stdout: terminal() })
      const [, name = 'none'] = /saved 3\.0 MB of image\/png to (\S+\.png)/.exec(saved.stderr) ?? []
      expect((await readFile(name)).equals(bytes)).to.equal(true)
    } finally {
      process.chdir(cwd)
    }
    expect(await readFile(path('screen'), 'utf8')).to.equal('')
    const piped = createWriteStream(path('raw'))
    expect((await runCommand(read, { stdout: piped })).code).to.equal(0)
    expect((await readFile(path('raw'))).equals(bytes)).to.equal(true)
  })
})
