import { expect } from 'chai'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SdkClient, Updates } from '../clients/client-face.ts'
import { readJson } from '../clients/scenario.ts'
import { type Serving, startServe } from '../clients/serve.ts'
import { until } from '../helpers/until.ts'
import {
  type InstalledAddon,
  type Remote,
  blenderModes,
  hasPrograms,
  installAddon,
  startRemote,
} from '../helpers/blender.ts'
import { skipBecause } from '../helpers/skip.ts'
import { connectWatcher } from './watcher.ts'

interface SceneObject {
  name: string
  translate: number[]
}

interface Scene {
  objects?: SceneObject[]
  document: { path?: string; name?: string; modified: boolean }
  counts: { objects: number }
  truncated: { objects: boolean; total: number; limit: number }
}

for (const { mode, needs, args, command } of blenderModes) {
  describe(`a subscribed client beside Blender (${mode})`, function () {
    this.timeout(120_000)
    let addon: InstalledAddon
    let serving: Serving
    let client: SdkClient
    let updates: Updates
    let blender: Remote | null = null

    const startBlender = () => {
      const env = { SERVICE_REGISTRY_DIR: registryDir(), LIBGL_ALWAYS_SOFTWARE: '1' }
      return startRemote(addon, { args, env, command: [...command] })
    }
    const registryDir = () => join(addon.folder, 'registry')
    async function quit(): Promise<void> {
      const last = blender
      blender = null
      if (last !== null) expect(await last.quit(), last.run.output()).to.equal(0)
    }

    before(async function () {
      if (!hasPrograms(...needs)) skipBecause(this, `one of ${needs.join(', ')} is not installed`)
      addon = await installAddon(300_000)
      await mkdir(registryDir(), { mode: 0o700 })
      serving = await startServe(registryDir())
      ;({ client, updates } = await connectWatcher(serving.url))
      await client.subscribeResource({ uri: 'scene://current' })
      blender = await startBlender()
    })
    // Each test begins with the same document, whatever the one before it left.
    beforeEach(async () => {
      blender ??= await startBlender()
      await tell('reset')
      const isFresh = ({ document, objects }: Scene) =>
        document?.path === undefined &&
        String(objects?.map(({ name }) => name).toSorted()) === 'Camera,Cube,Light' &&
        objects?.every(({ name, translate }) => name !== 'Cube' || translate[0] === 0) === true
      await comes(scene, isFresh)
    })
    after(async () => {
      await quit().finally(async () => {
        await client?.close()
        await serving?.stop()
        await addon?.remove()
      })
    })
    const tell = (word: string) => blender!.tell(word)

    const scene = async () => (await readJson(client, 'scene://current')) as unknown as Scene
    const names = async () => ((await scene()).objects ?? []).map(({ name }) => name)

    const moved = (found: Scene) =>
      found.objects?.find(({ name }) => name === 'Cube')?.translate[0] === 1

    /** Drawing in software takes longer than a read waits; then the scene says that it is old. */
    async function confirmed(): Promise<Scene> {
      for (;;) {
        const [content] = (await client.readResource({ uri: 'scene://current' })).contents
        const facts = content?._meta?.['service-cli/scene']
        expect(facts.application.connected).to.equal(true)
        if (facts.application.as_of === undefined) return JSON.parse(content?.text ?? '')
      }
    }

    /** Reads again at each update until what is read is so. */
    async function comes<T>(read: () => Promise<T>, isSo: (value: T) => boolean): Promise<T> {
      const expires = Date.now() + 20_000
      let value = await read()
      while (!isSo(value)) {
        if (Date.now() > expires) {
          throw new Error(`it did not come, but ${JSON.stringify(value)?.slice(0, 500)}`)
        }
        const seen = updates.count('scene://current')
        await updates.until('scene://current', seen + 1, 1000).catch(() => {})
        value = await read()
      }
      return value
    }

    async function record(): Promise<Record<string, unknown>> {
      const file = join(addon.folder, 'registry', 'instances', `${serving.instanceId}.json`)
      return JSON.parse(await readFile(file, 'utf8'))
    }

    it('sees the scene as soon as the add-on, which found the server itself, is connected', async () => {
      await tell('disconnect')
      await comes(scene, ({ objects }) => objects === undefined)
      await tell('connect')
      await comes(names, found => found.length === 3)
      // The record is written after the update was pushed.
      await until(async () => (await record())['dcc_type'] === 'blender', 'Blender in the record')
    })

    it('reads what was changed a moment ago, also while nobody follows the scene', async () => {
      await client.unsubscribeResource({ uri: 'scene://current' })
      for (let x = 1; x <= 5; x++) {
        await tell('move')
        const { objects } = await confirmed()
        expect(objects?.find(({ name }) => name === 'Cube')?.translate[0]).to.equal(x)
      }
      await client.subscribeResource({ uri: 'scene://current' })
      await tell('move_back')
      await comes(scene, moved)
    })

    it('is told of another name, and finds the object under it alone', async () => {
      await tell('rename')
      await comes(names, found => found.includes('Hero') && !found.includes('Cube'))
      const hero = await readJson(client, 'blender-object://Hero')
      expect(hero).to.deep.include({ id: 'Hero', translate: [0, 0, 0] })
      expect(await refusal(client, 'blender-object://Cube')).to.include({ code: -32002 })
      const listed = (await client.listResources()).resources.map(({ uri }) => uri)
      expect(listed).to.include('blender-object://Hero')
      expect(listed).not.to.include('blender-object://Cube')
    })

    it('is told which document is open, across saving, a new file and loading', async () => {
      const path = join(addon.folder, 'shot.blend')
      await tell('save')
      const saved = await comes(scene, found => found.document.path === path)
      expect(saved.document).to.include({ name: 'shot.blend' })
      await tell('new')
      const fresh = await comes(scene, found => found.document.path === undefined)
      expect(fresh.objects).to.deep.equal([])
      await comes(shared, found => !found.some(uri => uri.startsWith('blender-object:')))
      await tell('load')
      const loaded = await comes(scene, found => found.document.path === path)
      expect(loaded.objects?.map(({ name }) => name)).to.have.members(['Cube', 'Light', 'Camera'])
      // Without a window Blender itself says that an undo step of before is a change of this file.
      if (mode === 'gui') expect(loaded.document.modified).to.equal(false)
    })

    it('reads why the scene is gone when Blender loaded its factory settings', async () => {
      await tell('factory_settings')
      const gone = await comes(scene, ({ objects }) => objects === undefined)
      expect(gone).to.include({ status: 'no_snapshot' })
      expect(JSON.stringify(gone)).to.include('Blender reset its preferences')
      await tell('enable')
    })

    it('gets the render that was shared, and no other', async () => {
      const images = async () =>
        (await client.listResources()).resources.filter(({ name }) => name === 'render.png')
      const renders = async () =>
        (await actions()).filter(action => action === 'render.complete').length
      const before = await renders()
      await tell('render')
      await comes(renders, count => count > before)
      expect(await images()).to.deep.equal([])
      await tell('share')
      const [image] = await comes(images, found => found.length > 0)
      expect(image).to.include({ mimeType: 'image/png' })
      const [content] = (await client.readResource({ uri: image?.uri ?? '' })).contents
      expect(
        Buffer.from(content?.blob ?? '', 'base64')
          .subarray(1, 4)
          .toString(),
      ).to.equal('PNG')
    })

    it('gets a copy of the document, and Blender still knows what is unsaved', async () => {
      const copies = async () =>
        (await client.listResources()).resources.filter(
          ({ name, uri }) => uri.startsWith('artefact:') && name === 'shot.blend',
        )
      const shareCopy = async () => {
        const before = (await copies()).length
        await tell('share_document')
        await comes(copies, found => found.length > before)
      }
      const revision = async () => (await readJson(client, 'scene://delta'))['revision']
      await tell('save')
      await comes(scene, found => found.document.path !== undefined && !found.document.modified)
      const before = await revision()
      await shareCopy()
      expect(await revision()).to.equal(before)
      if (mode === 'gui') expect(await blender!.ask('is_modified')).to.equal(false)
      await tell('add')
      // By the time the copy has arrived, Blender's main loop has handled its notifier.
      await shareCopy()
      await until(() => blender!.ask('is_modified'), 'the modified state', 5000)
    })

    const actions = async () => {
      const { entries } = await readJson(client, 'audit://recent?limit=100')
      return (entries as { action: string }[]).map(({ action }) => action)
    }

    if (mode === 'gui') {
      it('finds in the audit the operators that a person ran, with what was set', async () => {
        // Again, where the add-on has not yet looked at the list of a document that was opened just now.
        const operate = () => tell('operate').then(actions)
        await comes(operate, found => found.includes('transform.translate'))
        const { entries } = await readJson(client, 'audit://recent?limit=100')
        const moved = (entries as { action: string; params: unknown }[]).find(
          ({ action }) => action === 'transform.translate',
        )
        expect(moved?.params).to.deep.include({ value: [0, 0, 2] })
      })

      it('says that Blender is busy when its main thread is', async () => {
        let isFrozen = true
        const frozen = tell('freeze').then(() => (isFrozen = false))
        const failed = await refusal(client, 'blender-object://Cube')
        expect(failed).to.deep.include({ code: -32603 })
        expect(failed?.data).to.deep.include({ reason: 'host_busy' })
        expect(isFrozen).to.equal(true)
        await frozen
        expect(await readJson(client, 'blender-object://Cube')).to.include({ id: 'Cube' })
      })
    }

    it('finds what a script printed', async () => {
      await tell('talk')
      const uri = await blender!.ask('console_uri')
      await comes(shared, found => found.includes(uri))
      const printed = async () => (await readJson(client, uri)).events.map(({ message }) => message)
      await comes(printed, found => found.includes('a line of a script'))
    })

    // After the test of what a script printed: this one prints much.
    if (mode === 'gui') {
      it('sees Blender survive operators that scripts run under another context', async () => {
        await tell('operate_often')
        await tell('operate')
      })
    }

    it('sees ten thousand objects', async () => {
      await tell('many')
      const found = await comes(scene, ({ counts }) => counts.objects === 10_000)
      expect(found.objects).to.have.length(10_000)
      expect(found.truncated).to.deep.equal({ objects: false, total: 10_000, limit: 100_000 })
    })

    // The last of this Blender: such a job harms the memory of Blender 3.4 now and then.
    if (mode === 'gui') {
      it('gets the result of a render that ran as a job, when that is switched on', async () => {
        try {
          const renders = async () =>
            (await client.listResources()).resources.filter(({ name }) => name === 'render.png')
          const before = (await renders()).length
          await tell('render_job')
          await comes(renders, found => found.length > before)
        } finally {
          await quit()
        }
      })
    }

    const shared = async () =>
      (await client.listResources()).resources
        .map(({ uri }) => uri)
        .filter(uri => /^(blender-object|events):/.test(uri))

    it('finds nothing that was shared when the add-on was disconnected', async () => {
      const mine = ['blender-object://Cube', await blender!.ask('console_uri')]
      await comes(shared, found => mine.every(uri => found.includes(uri)))
      await tell('disconnect')
      await comes(scene, ({ objects }) => objects === undefined)
      expect(await scene()).to.include({ status: 'no_snapshot' })
      const left = await shared()
      expect(left.filter(uri => mine.includes(uri))).to.deep.equal([])
      await until(async () => (await record())['scene'] === null, 'no scene in the record')
    })

    it('still reads the last scene when Blender has quit', async () => {
      const console = await blender!.ask('console_uri')
      await quit()
      expect((await scene()).counts.objects).to.equal(3)
      const left = await shared()
      expect(left).to.include(console)
      expect(left.filter(uri => uri.startsWith('blender-object:'))).to.deep.equal([])
    })
  })
}

async function refusal(
  client: SdkClient,
  uri: string,
): Promise<{ code: number; data?: unknown } | undefined> {
  return client.readResource({ uri }).then(
    () => undefined,
    error => error,
  )
}
