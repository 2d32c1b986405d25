import { expect } from 'chai'
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

const src = new URL('../../../src/', import.meta.url)

/** Names the packages that a thread of its own loads with these modules, and `undici` of Node. */
async function loadedBy(...modules: readonly string[]): Promise<string[]> {
  const script = `
    import { registerHooks } from 'node:module'
    import { parentPort } from 'node:worker_threads'
    const found = new Set()
    registerHooks({
      load(url, context, next) {
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1]
        if (name !== undefined) found.add(name)
        return next(url, context)
      },
    })
    for (const url of ${JSON.stringify(modules.map(name => new URL(name, src).href))}) await import(url)
    if (process.moduleLoadList.some(name => name.endsWith('undici/undici'))) found.add('undici')
    parentPort.postMessage([...found])`
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(script)}`))
  const [found] = await once(worker, 'message')
  await worker.terminate()
  return found
}

describe('whoami', () => {
  it('loads no HTTP client, no schemas and no prompts', async () => {
    const found = await loadedBy('commands/whoami.ts', 'commands/account/whoami.ts')
    expect(found).to.include.members(['@oclif/core', 'smol-toml'])
    expect(found).not.to.include.any.members(['zod', 'got', 'undici', 'pino', '@inquirer/prompts'])
  })

  it('is seen by this test', async () => {
    expect(await loadedBy('lib/accounts/wire.ts')).to.deep.equal(['zod'])
  })
})
