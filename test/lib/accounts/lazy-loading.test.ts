import { expect } from 'chai'
import { spawnSync } from 'node:child_process'

const src = new URL('../../../src/lib/', import.meta.url)

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
  it('load the HTTP client only when something is sent, and the schemas never', () => {
    const modules = ['accounts/connect.ts', 'accounts/session.ts', 'accounts/select-server.ts']
    expect(packagesLoadedBy([...modules, 'config/config-store.ts'])).to.deep.equal(['smol-toml'])
  })

  it('are seen by this test', () => {
    expect(packagesLoadedBy(['accounts/wire.ts'])).to.deep.equal(['zod'])
  })

  it('leave undici where it is, and node:http as it was', () => {
    const script = `
      const http = process.getBuiltinModule('node:http')
      const before = JSON.stringify(Object.keys(http))
      await import('${new URL('accounts/transport.ts', src)}')
      const { http: got } = await import('${new URL('accounts/node-http.ts', src)}')
      await import('got')
      console.log(JSON.stringify({
        undici: process.moduleLoadList.some(name => name.endsWith('undici/undici')),
        same: got === http && before === JSON.stringify(Object.keys(http)),
        socket: typeof http.WebSocket,
      }))`
    const args = ['--input-type=module', '--eval', script]
    const cwd = new URL('.', import.meta.url)
    const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8', cwd })
    expect(JSON.parse(stdout)).to.deep.equal({ undici: false, same: true, socket: 'function' })
  })
})
