/**
 * `node:http` for the client. To import it makes Node read every member, and three of them load
 * the whole of undici when they are read: a tenth of the time of a short command. So it is
 * imported once while these are hidden and restored afterwards; later imports of `node:http`, that
 * of got among them, get the same module.
 */
const http = process.getBuiltinModule('node:http')

const costly = ['WebSocket', 'CloseEvent', 'MessageEvent'] as const

const hidden = costly.flatMap(name => {
  const found = Object.getOwnPropertyDescriptor(http, name)
  return found?.configurable === true ? [[name, found] as const] : []
})
try {
  for (const [name] of hidden)
    Object.defineProperty(http, name, { value: undefined, configurable: true, enumerable: true })
  await import('node:http')
} finally {
  for (const [name, found] of hidden) Object.defineProperty(http, name, found)
}

export { http }
