/** How service tokens begin: both ends treat them otherwise than the tokens of a login. */
export const serviceTokenPrefix = 'svc_'
