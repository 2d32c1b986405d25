import { expect } from 'chai'
import { spawnSync } from 'node:child_process'

const src = new URL('../../src/lib/', import.meta.url)

/** Names the packages that loading these modules of `src/lib` loads. */
function packagesLoadedBy(modules: readonly string[]): string[] {
  const script = `
    import { registerHooks } from 'node:module'
    const found = new Set()
    registerHooks({
      load(url, context, next) {
        const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(url)?.[1]
        if (name !== undefined) found.add(name)
        return next(url, context)
      },
    })
    for (const url of ${JSON.stringify(modules.map(name => new URL(name, src).href))}) await import(url)
    console.log(JSON.stringify([...found]))`
  const args = ['--input-type=module', '--eval', script]
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return JSON.parse(stdout)
}

describe('modules of the accounts client', () => {
  it('load no HTTP client and no schemas', () => {
    const modules = ['accounts/transport.ts', 'accounts/session.ts', 'accounts/select-server.ts']
    expect(packagesLoadedBy([...modules, 'config/config-store.ts'])).to.deep.equal(['smol-toml'])
  })

  it('are seen by this test', () => {
    expect(packagesLoadedBy(['accounts/wire.ts'])).to.deep.equal(['zod'])
  })

  it('leave the fetch of Node unloaded', () => {
    const script = `
      await import('${new URL('accounts/transport.ts', src)}')
      console.log(process.moduleLoadList.some(name => name.endsWith('undici/undici')))`
    const args = ['--input-type=module', '--eval', script]
    expect(spawnSync(process.execPath, args, { encoding: 'utf8' }).stdout).to.equal('false\n')
  })
})
