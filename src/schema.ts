import type { Schemas } from './platform/platform.module.js';

/** All tables of the product: entities stay with their modules, the order of the migrations is decided here. */
export const schemas: Schemas = {
  control: {
    entities: [],
    migrations: [],
  },
  tenant: {
    entities: [],
    migrations: [],
  },
};
