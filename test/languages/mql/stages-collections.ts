/** Cases of stages that read and write other collections. Sources: the manual, and MongoDB's own tests. */

import { fails, long, type StageCases } from './aggregate-case.ts'

const orders = [
  { _id: 1, item: 'almonds', price: 12, quantity: 2 },
  { _id: 2, item: 'pecans', price: 20, quantity: 1 },
  { _id: 3 },
]
const inventory = [
  { _id: 1, sku: 'almonds', description: 'product 1', instock: 120 },
  { _id: 2, sku: 'bread', description: 'product 2', instock: 80 },
  { _id: 3, sku: 'cashews', description: 'product 3', instock: 60 },
  { _id: 4, sku: 'pecans', description: 'product 4', instock: 70 },
  { _id: 5, sku: null, description: 'Incomplete' },
  { _id: 6 },
]

const stockOrders = [
  { _id: 1, item: 'almonds', price: 12, ordered: 2 },
  { _id: 2, item: 'pecans', price: 20, ordered: 1 },
  { _id: 3, item: 'cookies', price: 10, ordered: 60 },
]
const warehouses = [
  { _id: 1, stock_item: 'almonds', warehouse: 'A', instock: 120 },
  { _id: 2, stock_item: 'pecans', warehouse: 'A', instock: 80 },
  { _id: 3, stock_item: 'almonds', warehouse: 'B', instock: 60 },
  { _id: 4, stock_item: 'cookies', warehouse: 'B', instock: 40 },
  { _id: 5, stock_item: 'cookies', warehouse: 'A', instock: 80 },
]

const employees = [
  { _id: 1, name: 'Dev' },
  { _id: 2, name: 'Eliot', reportsTo: 'Dev' },
  { _id: 3, name: 'Ron', reportsTo: 'Eliot' },
  { _id: 4, name: 'Andrew', reportsTo: 'Eliot' },
  { _id: 5, name: 'Asya', reportsTo: 'Ron' },
  { _id: 6, name: 'Dan', reportsTo: 'Andrew' },
]

const airports = [
  { _id: 0, airport: 'JFK', connects: ['BOS', 'ORD'] },
  { _id: 1, airport: 'BOS', connects: ['JFK', 'PWM'] },
  { _id: 2, airport: 'ORD', connects: ['JFK'] },
  { _id: 3, airport: 'PWM', connects: ['BOS', 'LHR'] },
  { _id: 4, airport: 'LHR', connects: ['PWM'] },
]

const lookup = (spec: object) => [{ $lookup: { from: 'others', as: 'found', ...spec } }]

export const collectionStageCases: StageCases = {
  $lookup: [
    {
      name: 'by equality; a missing value finds null and missing values',
      pipeline: [{ $lookup: { from: 'inventory', localField: 'item', foreignField: 'sku', as: 'inventory_docs' } }],
      documents: orders,
      others: { inventory },
      results: [
        { ...orders[0]!, inventory_docs: [inventory[0]!] },
        { ...orders[1]!, inventory_docs: [inventory[3]!] },
        { ...orders[2]!, inventory_docs: [inventory[4]!, inventory[5]!] },
      ],
    },
    {
      name: 'an array finds by each of its elements',
      pipeline: [
        { $lookup: { from: 'members', localField: 'enrollmentlist', foreignField: 'name', as: 'enrollee_info' } },
      ],
      documents: [{ _id: 1, title: 'Reading is ...', enrollmentlist: ['giraffe2', 'pandabear', 'artie'] }],
      others: {
        members: [
          { _id: 1, name: 'artie' },
          { _id: 2, name: 'giraffe2' },
          { _id: 3, name: 'other' },
          { _id: 4, name: ['pandabear', 'x'] },
        ],
      },
      results: [
        {
          _id: 1,
          title: 'Reading is ...',
          enrollmentlist: ['giraffe2', 'pandabear', 'artie'],
          enrollee_info: [
            { _id: 1, name: 'artie' },
            { _id: 2, name: 'giraffe2' },
            { _id: 4, name: ['pandabear', 'x'] },
          ],
        },
      ],
    },
    {
      name: 'by a pipeline with variables',
      pipeline: [
        {
          $lookup: {
            from: 'warehouses',
            let: { order_item: '$item', order_qty: '$ordered' },
            pipeline: [
              {
                $match: {
                  $expr: { $and: [{ $eq: ['$stock_item', '$$order_item'] }, { $gte: ['$instock', '$$order_qty'] }] },
                },
              },
              { $project: { stock_item: 0, _id: 0 } },
            ],
            as: 'stockdata',
          },
        },
      ],
      documents: stockOrders,
      others: { warehouses },
      results: [
        {
          ...stockOrders[0]!,
          stockdata: [
            { warehouse: 'A', instock: 120 },
            { warehouse: 'B', instock: 60 },
          ],
        },
        { ...stockOrders[1]!, stockdata: [{ warehouse: 'A', instock: 80 }] },
        { ...stockOrders[2]!, stockdata: [{ warehouse: 'A', instock: 80 }] },
      ],
    },
    {
      name: 'by a pipeline that is always the same',
      pipeline: [
        {
          $lookup: {
            from: 'holidays',
            pipeline: [
              { $match: { year: 2018 } },
              { $project: { _id: 0, date: '$name' } },
              { $replaceRoot: { newRoot: '$$ROOT' } },
            ],
            as: 'holidays',
          },
        },
      ],
      documents: [{ _id: 1 }, { _id: 2 }],
      others: {
        holidays: [
          { _id: 1, year: 2018, name: 'New Years' },
          { _id: 2, year: 2017, name: 'Ice Cream Day' },
        ],
      },
      results: [
        { _id: 1, holidays: [{ date: 'New Years' }] },
        { _id: 2, holidays: [{ date: 'New Years' }] },
      ],
    },
    {
      name: 'by equality and a pipeline',
      pipeline: lookup({
        localField: 'a',
        foreignField: 'b',
        let: { min: '$min' },
        pipeline: [{ $match: { $expr: { $gte: ['$n', '$$min'] } } }, { $sort: { n: -1 } }, { $limit: 1 }],
      }),
      documents: [
        { _id: 1, a: 1, min: 5 },
        { _id: 2, a: 2, min: 0 },
      ],
      others: {
        others: [
          { _id: 1, b: 1, n: 4 },
          { _id: 2, b: 1, n: 6 },
          { _id: 3, b: 1, n: 7 },
          { _id: 4, b: 9, n: 9 },
        ],
      },
      results: [
        { _id: 1, a: 1, min: 5, found: [{ _id: 3, b: 1, n: 7 }] },
        { _id: 2, a: 2, min: 0, found: [] },
      ],
    },
    {
      name: 'a pipeline within a pipeline sees the outer variables',
      pipeline: lookup({
        let: { x: '$_id' },
        pipeline: [
          {
            $lookup: {
              from: 'others',
              let: { y: '$_id' },
              pipeline: [{ $match: { $expr: { $and: [{ $gt: ['$_id', '$$x'] }, { $lt: ['$_id', '$$y'] }] } } }],
              as: 'between',
            },
          },
          { $match: { 'between.0': { $exists: true } } },
        ],
      }),
      documents: [{ _id: 1 }, { _id: 2 }],
      others: { others: [{ _id: 1 }, { _id: 2 }, { _id: 3 }] },
      results: [
        { _id: 1, found: [{ _id: 3, between: [{ _id: 2 }] }] },
        { _id: 2, found: [] },
      ],
    },
    {
      name: 'a collection that does not exist',
      pipeline: [{ $lookup: { from: 'nowhere', localField: 'a', foreignField: 'b', as: 'x.y' } }],
      documents: [{ _id: 1, x: { z: 1 } }],
      results: [{ _id: 1, x: { z: 1, y: [] } }],
    },
    {
      name: 'documents of the pipeline itself',
      pipeline: [
        {
          $lookup: {
            localField: 'a',
            foreignField: 'b',
            pipeline: [{ $documents: [{ b: 1 }, { b: 2 }] }],
            as: 'found',
          },
        },
      ],
      documents: [{ a: 1 }],
      results: [{ a: 1, found: [{ b: 1 }] }],
    },
    { name: 'must be a document', pipeline: [{ $lookup: 1 }], error: fails(9) },
    { name: 'needs as', pipeline: [{ $lookup: { from: 'a', localField: 'a', foreignField: 'b' } }], error: fails(9) },
    { name: 'needs both fields', pipeline: lookup({ localField: 'a' }), error: fails(9) },
    { name: 'an unknown option', pipeline: lookup({ localField: 'a', foreignField: 'b', x: 1 }), error: fails(9) },
    {
      name: 'let without a pipeline',
      pipeline: lookup({ localField: 'a', foreignField: 'b', let: { x: 1 } }),
      error: fails(9),
    },
    { name: 'not with $merge', pipeline: lookup({ pipeline: [{ $merge: 'x' }] }), error: fails(51047) },
  ],
  $unionWith: [
    {
      name: 'after the documents of the collection',
      pipeline: [{ $unionWith: { coll: 'others', pipeline: [{ $project: { _id: 0 } }] } }, { $sort: { a: 1 } }],
      documents: [{ a: 1 }, { a: 3 }],
      others: { others: [{ _id: 9, a: 2 }] },
      results: [{ a: 1 }, { a: 2 }, { a: 3 }],
    },
    {
      name: 'in the short form',
      pipeline: [{ $unionWith: 'others' }],
      documents: [{ a: 1 }],
      others: { others: [{ b: 1 }] },
      results: [{ a: 1 }, { b: 1 }],
    },
    {
      name: 'a collection that does not exist',
      pipeline: [{ $unionWith: 'nowhere' }],
      documents: [{ a: 1 }],
      results: [{ a: 1 }],
    },
    {
      name: 'documents of the pipeline itself',
      pipeline: [{ $unionWith: { pipeline: [{ $documents: [{ b: 1 }] }] } }],
      documents: [{ a: 1 }],
      results: [{ a: 1 }, { b: 1 }],
    },
    { name: 'must be a string or a document', pipeline: [{ $unionWith: 1 }], error: fails(9) },
    { name: 'needs a collection', pipeline: [{ $unionWith: {} }], error: fails(9) },
    { name: 'an unknown option', pipeline: [{ $unionWith: { coll: 'a', x: 1 } }], error: fails(40415) },
    {
      name: 'not with $out',
      pipeline: [{ $unionWith: { coll: 'a', pipeline: [{ $out: 'x' }] } }],
      error: fails(31441),
    },
  ],
  $graphLookup: [
    {
      name: 'a hierarchy',
      pipeline: [
        { $match: { _id: { $in: [1, 5] } } },
        {
          $graphLookup: {
            from: 'employees',
            startWith: '$reportsTo',
            connectFromField: 'reportsTo',
            connectToField: 'name',
            as: 'reportingHierarchy',
          },
        },
      ],
      documents: employees,
      others: { employees },
      results: [
        { _id: 1, name: 'Dev', reportingHierarchy: [] },
        { _id: 5, name: 'Asya', reportsTo: 'Ron', reportingHierarchy: [employees[2]!, employees[1]!, employees[0]!] },
      ],
    },
    {
      name: 'with a depth',
      pipeline: [
        {
          $graphLookup: {
            from: 'airports',
            startWith: '$nearestAirport',
            connectFromField: 'connects',
            connectToField: 'airport',
            maxDepth: 2,
            depthField: 'numConnections',
            as: 'destinations',
          },
        },
        { $unwind: '$destinations' },
        { $replaceWith: { a: '$destinations.airport', n: '$destinations.numConnections' } },
        { $sort: { n: 1, a: 1 } },
      ],
      documents: [{ _id: 1, name: 'Dev', nearestAirport: 'JFK' }],
      others: { airports },
      results: [
        { a: 'JFK', n: long(0) },
        { a: 'BOS', n: long(1) },
        { a: 'ORD', n: long(1) },
        { a: 'PWM', n: long(2) },
      ],
    },
    {
      name: 'with a filter',
      pipeline: [
        {
          $graphLookup: {
            from: 'airports',
            startWith: 'JFK',
            connectFromField: 'connects',
            connectToField: 'airport',
            restrictSearchWithMatch: { airport: { $ne: 'BOS' } },
            as: 'found',
          },
        },
        { $project: { names: '$found.airport' } },
      ],
      documents: [{ _id: 1 }],
      others: { airports },
      results: [{ _id: 1, names: ['JFK', 'ORD'] }],
    },
    {
      name: 'null finds null, but not missing values',
      pipeline: [
        { $graphLookup: { from: 'others', startWith: null, connectFromField: 'x', connectToField: 'b', as: 'found' } },
      ],
      documents: [{ _id: 1 }],
      others: { others: [{ _id: 1, b: null }, { _id: 2 }] },
      results: [{ _id: 1, found: [{ _id: 1, b: null }] }],
    },
    { name: 'needs all of them', pipeline: [{ $graphLookup: { from: 'a', as: 'b' } }], error: fails(40105) },
    { name: 'needs from', pipeline: [{ $graphLookup: { as: 'b' } }], error: fails(9) },
    { name: 'an unknown option', pipeline: [{ $graphLookup: { from: 'a', x: 1 } }], error: fails(40104) },
    { name: 'a negative depth', pipeline: [{ $graphLookup: { from: 'a', maxDepth: -1 } }], error: fails(40101) },
    {
      name: 'a depth that is no number',
      pipeline: [{ $graphLookup: { from: 'a', maxDepth: 'x' } }],
      error: fails(40100),
    },
    {
      name: 'an invalid filter',
      pipeline: [{ $graphLookup: { from: 'a', restrictSearchWithMatch: 1 } }],
      error: fails(40185),
    },
  ],
  $out: [
    {
      name: 'replaces a collection',
      pipeline: [
        { $group: { _id: '$author', books: { $push: '$title' } } },
        { $sort: { _id: 1 } },
        { $out: 'authors' },
      ],
      documents: [
        { _id: 8751, title: 'The Banquet', author: 'Dante' },
        { _id: 8752, title: 'Divine Comedy', author: 'Dante' },
        { _id: 7000, title: 'The Odyssey', author: 'Homer' },
      ],
      others: { authors: [{ _id: 'old' }] },
      results: [],
      writes: {
        authors: [
          { _id: 'Dante', books: ['The Banquet', 'Divine Comedy'] },
          { _id: 'Homer', books: ['The Odyssey'] },
        ],
      },
    },
    {
      name: 'of another database',
      pipeline: [{ $out: { db: 'reporting', coll: 'x' } }],
      documents: [{ a: 1 }],
      results: [],
      writes: { x: [{ a: 1 }] },
    },
    { name: 'of nothing', pipeline: [{ $out: 'x' }], others: { x: [{ a: 1 }] }, results: [], writes: { x: [] } },
    { name: 'must come last', pipeline: [{ $out: 'x' }, { $limit: 1 }], error: fails(40601) },
    { name: 'must be a name', pipeline: [{ $out: 1 }], error: fails(16990) },
    { name: 'must not be a special collection', pipeline: [{ $out: 'system.users' }], error: fails(17385) },
    { name: 'must not be a special database', pipeline: [{ $out: { db: 'admin', coll: 'x' } }], error: fails(31321) },
  ],
  $merge: [
    {
      name: 'sets the fields of existing documents and inserts the others',
      pipeline: [{ $merge: { into: 'target' } }],
      documents: [
        { _id: 1, a: 2, c: 3 },
        { _id: 2, a: 5 },
      ],
      others: { target: [{ _id: 1, a: 1, b: 1 }] },
      results: [],
      writes: {
        target: [
          { _id: 1, a: 2, b: 1, c: 3 },
          { _id: 2, a: 5 },
        ],
      },
    },
    {
      name: 'replaces',
      pipeline: [{ $merge: { into: 'target', on: 'k', whenMatched: 'replace', whenNotMatched: 'discard' } }],
      documents: [
        { _id: 1, k: 'x', a: 2 },
        { _id: 2, k: 'y' },
      ],
      others: { target: [{ _id: 1, k: 'x', b: 1 }] },
      results: [],
      writes: { target: [{ _id: 1, k: 'x', a: 2 }] },
    },
    {
      name: 'keeps existing documents',
      pipeline: [{ $merge: { into: 'target', whenMatched: 'keepExisting' } }],
      documents: [
        { _id: 1, a: 2 },
        { _id: 2, a: 2 },
      ],
      others: { target: [{ _id: 1, a: 1 }] },
      results: [],
      writes: {
        target: [
          { _id: 1, a: 1 },
          { _id: 2, a: 2 },
        ],
      },
    },
    {
      name: 'by a pipeline',
      pipeline: [
        {
          $merge: {
            into: 'totals',
            let: { more: { $add: ['$votes', 1] } },
            whenMatched: [{ $set: { votes: { $add: ['$votes', '$$new.votes', '$$more'] } } }, { $unset: 'x' }],
          },
        },
      ],
      documents: [{ _id: 'a', votes: 10 }],
      others: { totals: [{ _id: 'a', x: 1, votes: 100 }] },
      results: [],
      writes: { totals: [{ _id: 'a', votes: 121 }] },
    },
    {
      name: 'in the short form',
      pipeline: [{ $merge: 'target' }],
      documents: [{ _id: 1 }],
      results: [],
      writes: { target: [{ _id: 1 }] },
    },
    { name: 'must say where', pipeline: [{ $merge: {} }], error: fails(40414) },
    { name: 'must be a string or a document', pipeline: [{ $merge: 1 }], error: fails(14) },
    { name: 'an unknown mode', pipeline: [{ $merge: { into: 'x', whenMatched: 'y' } }], error: fails(2) },
    {
      name: 'modes that do not go together',
      pipeline: [{ $merge: { into: 'x', whenMatched: 'fail', whenNotMatched: 'discard' } }],
      error: fails(51189),
    },
    { name: 'variables without a pipeline', pipeline: [{ $merge: { into: 'x', let: { a: 1 } } }], error: fails(51199) },
    {
      name: 'a pipeline with other stages',
      pipeline: [{ $merge: { into: 'x', whenMatched: [{ $match: {} }] } }],
      error: fails(72),
    },
    { name: 'a field twice', pipeline: [{ $merge: { into: 'x', on: ['a', 'a'] } }], error: fails(31465) },
    { name: 'no field', pipeline: [{ $merge: { into: 'x', on: [] } }], error: fails(51187) },
    { name: 'must come last', pipeline: [{ $merge: 'x' }, { $limit: 1 }], error: fails(40601) },
  ],
}
