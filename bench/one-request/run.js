// A program of oclif and got, as their documentation has it, with the compile cache of Node on.
import { enableCompileCache } from 'node:module'

enableCompileCache()
const { execute } = await import('@oclif/core')
await execute({ dir: import.meta.url })
