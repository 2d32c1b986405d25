import { expect } from 'chai'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runCommand } from '../../helpers/in-process.ts'
import { LinkClient } from '../../helpers/link.ts'
import { usePerson } from './person.ts'

const cube = (x: number) => ({ id: 'Cube', name: 'Cube', translate: [x, 0, 0] })
const lamp = { id: 'Lamp', name: 'Lamp' }

describe('checkpoints of the scene', () => {
  const person = usePerson('hip')
  const { home, env, documents, restart, openDocument, post, call, read } = person

  const setScene = async (objects: object[]) => (await post('scene', { objects })).json.revision
  const add = (name: string) => post('checkpoints', { name, by: 'ada' })
  const remove = (name: string) =>
    fetch(`${person.serve.hostUrl}/v1/checkpoints/${name}`, {
      method: 'DELETE',
      headers: { Authorization: `Bearer ${person.serve.token}` },
    })

  it('tell what changed since, also after a restart and between two of them', async () => {
    await setScene([cube(0)])
    const made = await add('before lights')
    expect(made.json.checkpoint).to.include({ name: 'before lights', by: 'ada' })
    await setScene([cube(0), lamp])
    await add('after')
    await restart()
    await openDocument(person.document.path)
    const revision = await setScene([cube(1), lamp])
    const uri = 'scene://delta?since=before%20lights'
    const since = await read(uri)
    expect(since).to.deep.include({ base_checkpoint: 'before lights', revision, truncated: false })
    expect(since.changes.map(({ path, kind }: any) => `${kind} ${path}`)).to.deep.equal([
      'changed /objects/0/translate',
      'added /objects/1',
    ])
    const between = await read(`${uri}&until=after`)
    expect(between.changes).to.have.length(1)
    expect(between).to.include({ base_checkpoint: 'before lights', checkpoint: 'after' })
    const words = (
      await call('tools/call', { name: 'scene_changes', arguments: { checkpoint: 'after' } })
    ).result.content[0].text
    const head = `checkpoint "after" → ${revision}: 1 object or setting changed`
    expect(words).to.contain(`${head}\n- Cube moved 1.00 along x\n`)
  })

  it('are kept by the document that a post names', async () => {
    const open = (path: string) =>
      post('app', { document: { path }, dcc_type: 'houdini' }).then(({ status }) => status)
    const names = async () =>
      (await read('scene://checkpoints')).checkpoints.map(({ name }: any) => name)
    await setScene([cube(0)])
    expect(await open('/shots/010.hip')).to.equal(200)
    await add('before')
    await open('/shots/020.hip')
    expect(await names()).to.deep.equal([])
    await open('/shots/010.hip')
    expect(await names()).to.deep.equal(['before'])
  })

  it('are listed, pushed, completed and removed', async () => {
    const events = await person.session.listen()
    await call('resources/subscribe', { uri: 'scene://checkpoints' })
    const told = (count: number) =>
      events.until(
        () => events.updates.filter(uri => uri === 'scene://checkpoints').length >= count,
        'an update',
      )
    await setScene([cube(0), { ...lamp, type: 'light' }])
    await add('one')
    await told(1)
    const names = async () =>
      (await read('scene://checkpoints')).checkpoints.map((each: any) => each.name)
    expect(await names()).to.deep.equal(['one'])
    const completed = async (uri: string, name: string, value: string) => {
      const params = { ref: { type: 'ref/resource', uri }, argument: { name, value } }
      return (await call('completion/complete', params)).result.completion.values
    }
    const delta = 'scene://delta{?since,run,until}'
    for (const name of ['since', 'until']) {
      expect(await completed(delta, name, 'o')).to.deep.equal(['one'])
    }
    const { resourceTemplates } = (await call('resources/templates/list')).result
    const { uriTemplate } = resourceTemplates.find((each: any) =>
      each.uriTemplate.startsWith('scene://current'),
    )
    expect(await completed(uriTemplate, 'type', '')).to.deep.equal(['light'])
    expect(await completed(uriTemplate, 'name', 'C')).to.deep.equal(['Cube'])
    expect(await completed(uriTemplate, 'name', 'none')).to.deep.equal([])
    expect((await remove('one')).status).to.equal(200)
    await told(2)
    expect(await names()).to.deep.equal([])
    expect((await remove('one')).status).to.equal(404)
  })

  it('are refused without a scene, under a number, a used or a reserved name', async () => {
    await restart()
    expect((await add('early')).json.detail).to.include('no scene is shared now')
    await setScene([cube(0)])
    for (const name of ['12', '', '../up', 'note-0123abcd', 'a'.repeat(65)]) {
      expect((await add(name)).status, name).to.equal(400)
    }
    await add('one')
    expect((await add('one')).json).to.include({ status: 409 })
    const unknown = await call('resources/read', { uri: 'scene://delta?since=two' })
    expect(unknown.error.message).to.include('no checkpoint "two"; scene://checkpoints lists')
    const alone = await call('resources/read', { uri: 'scene://delta?until=one' })
    expect(alone.error.message).to.include('"until" needs "since" with the name of')
  })

  it('leave the others when a file is damaged', async () => {
    const scenes = async () =>
      (await readdir(documents, { recursive: true })).filter(path => path.endsWith('.gz'))
    await setScene([cube(0)])
    await add('other')
    const before = await scenes()
    await add('one')
    const [scene = ''] = (await scenes()).filter(path => !before.includes(path))
    await writeFile(join(documents, scene), 'not a scene')
    const other = join(documents, dirname(dirname(scene)), '0'.repeat(32))
    await mkdir(other)
    await writeFile(join(other, 'facts.json'), '{')
    await add('two')
    expect((await read('scene://checkpoints')).checkpoints).to.have.length(3)
    const damaged = await call('resources/read', { uri: 'scene://delta?since=one' })
    expect(damaged.error.message).to.include('checkpoint "one" cannot be read')
    expect((await read('scene://delta?since=two')).changes).to.deep.equal([])
  })

  it('are made over the host link', async () => {
    await restart()
    const app = await LinkClient.connect(person.serve)
    const make = (name: string) => app.ask({ type: 'checkpoint.add', name, by: 'ada' })
    expect(await make('one')).to.include({ type: 'error', code: 'not_found' })
    await app.ask({ type: 'scene.set', scene: { objects: [cube(0)] } })
    expect((await make('one')).checkpoint).to.include({ name: 'one' })
    expect(await make('one')).to.include({ type: 'error', code: 'invalid' })
    expect((await read('scene://checkpoints')).checkpoints).to.have.length(1)
  })

  it('say when the application did not confirm the scene, or is gone', async () => {
    const app = await LinkClient.connect(person.serve, { scene_refresh: true })
    await app.done({ type: 'scene.set', scene: { objects: [cube(0)] } })
    app.answer = () => ({ code: 'busy', message: 'a modal dialog' })
    const busy = await add('busy')
    expect(busy.json.checkpoint.as_of).to.be.a('string')
    const { as_of } = busy.json.checkpoint
    const linked = await app.done({ type: 'checkpoint.add', name: 'linked', by: 'ada' })
    expect(linked.checkpoint).to.include({ name: 'linked', as_of })
    const typed = ['checkpoint', 'typed', `--registry-dir=${home}`]
    expect((await runCommand(typed, { env })).stdout).to.equal(
      `checkpoint "typed" made; the application has not confirmed its scene since ${as_of}; ` +
        'later changes may be missing\n',
    )
    const list = await runCommand(['checkpoint', 'list', `--registry-dir=${home}`], { env })
    expect(list.code).to.equal(2)
    expect(list.stderr).to.include('service-cli resources read scene://checkpoints lists them')
    app.answer = () => ({})
    expect((await add('confirmed')).json.checkpoint).not.to.have.property('as_of')
    await app.bye()
    expect((await add('gone')).json.checkpoint).to.include({ connected: false })
    const { checkpoints } = await read('scene://checkpoints')
    const told = checkpoints.filter((each: any) => each.as_of !== undefined)
    expect(told.map(({ name }: any) => name)).to.deep.equal(['busy', 'linked', 'typed', 'gone'])
    expect(told[0]).to.deep.equal(busy.json.checkpoint)
  })
})
