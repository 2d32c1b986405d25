/**
 * Where a profile's time went, by function: `node bench/self-time.ts FILE.cpuprofile [FUNCTION…]`.
 * Shares are of the time the process was busy; those of named functions with all that they call.
 */
import { readFileSync } from 'node:fs'

interface Profile {
  nodes: {
    id: number
    children?: number[]
    callFrame: { functionName: string; url: string; lineNumber: number }
  }[]
  samples: number[]
  timeDeltas: number[]
}

const [file, ...functions] = process.argv.slice(2)
if (file === undefined)
  throw new Error('usage: node bench/self-time.ts FILE.cpuprofile [FUNCTION…]')
const profile: Profile = JSON.parse(readFileSync(file, 'utf8'))
const names = new Map(
  profile.nodes.map(({ id, callFrame: { functionName, url, lineNumber } }) => {
    const place = url.replace(/^.*\/(dist|node_modules)\//, '$1/')
    return [id, `${functionName || '(anonymous)'} ${place}${place === '' ? '' : `:${lineNumber}`}`]
  }),
)
const selfUs = new Map<string, number>()
let busyUs = 0
profile.samples.forEach((id, at) => {
  const name = names.get(id) ?? '?'
  if (name.startsWith('(idle)')) return
  const us = profile.timeDeltas[at] ?? 0
  selfUs.set(name, (selfUs.get(name) ?? 0) + us)
  busyUs += us
})
console.log(`busy ${Math.round(busyUs / 1000)} ms`)
const most = [...selfUs].sort(([, left], [, right]) => right - left).slice(0, 25)
for (const [name, us] of most) console.log(`${((us / busyUs) * 100).toFixed(1)} %  ${name.trim()}`)

for (const name of functions) {
  const within = new Set<number>()
  for (const { id, callFrame, children = [] } of profile.nodes) {
    if (callFrame.functionName === name) within.add(id)
    // Nodes come after those that call them.
    if (within.has(id)) for (const child of children) within.add(child)
  }
  const us = profile.samples.reduce(
    (sum, id, at) => sum + (within.has(id) ? (profile.timeDeltas[at] ?? 0) : 0),
    0,
  )
  console.log(`${((us / busyUs) * 100).toFixed(1)} %  within ${name}`)
}
