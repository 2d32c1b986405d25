export { type Timer, systemTimer } from '../../lib/util/timer.ts'
