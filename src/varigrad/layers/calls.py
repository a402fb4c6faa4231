"""A layer's calls on symbolic tensors: what it was called on, and what it gave."""

from __future__ import annotations

from typing import Any
from weakref import ref

from varigrad.errors import NotYetError
from varigrad.layers.lists import one_or_list
from varigrad.layers.options import OptionHolder
from varigrad.layers.symbolic import Node, SymbolicTensor

__all__ = ["Called"]


class Called(OptionHolder):
    """What a layer knows of its calls, of which it keeps none alive."""

    # An object's own, from its first call on symbolic tensors; its copy may be called while it is being made.
    _node_refs: tuple[ref[Node], ...] = ()

    @property
    def inbound_nodes(self) -> list[Node]:
        """The layer's calls on symbolic tensors, as far as their results, or models of them, are still in use."""
        return [node for node in (call() for call in self._node_refs) if node is not None]

    def _note_call(self, node: Node) -> None:
        self._node_refs = (*[call for call in self._node_refs if call() is not None], ref(node))

    def __getstate__(self) -> dict[str, Any]:
        # Calls note themselves again when they are copied.
        return {name: value for name, value in vars(self).items() if name != "_node_refs"}

    def _node(self, index: int | None, what: str) -> Node:
        """The call at a place, or the only one."""
        nodes = self.inbound_nodes
        count = len(nodes)
        if index is None and count > 1:
            raise NotYetError(
                f"{self.name}: was called {count} times, so it has no one {what}; get_{what}_at says which is meant"
            )
        if not 0 <= (index or 0) < count:
            raise NotYetError(f"{self.name}: has no {what} {index or 0}; it was called {count} times")
        return nodes[index or 0]

    @property
    def input(self) -> SymbolicTensor | list[SymbolicTensor]:
        """The symbolic tensor, or list of them, that the layer was called on, if it was called once."""
        return one_or_list(self._node(None, "input").inputs)

    @property
    def output(self) -> SymbolicTensor | list[SymbolicTensor]:
        """The symbolic tensor, or list of them, that the layer gave, if it was called once."""
        return one_or_list(self._node(None, "output").outputs)

    def get_input_at(self, node_index: int) -> SymbolicTensor | list[SymbolicTensor]:
        """What the layer was called on in its call number `node_index`, from 0."""
        return one_or_list(self._node(node_index, "input").inputs)

    def get_output_at(self, node_index: int) -> SymbolicTensor | list[SymbolicTensor]:
        """What the layer gave in its call number `node_index`, from 0."""
        return one_or_list(self._node(node_index, "output").outputs)

    @property
    def input_shape(self) -> Any:
        """The shape, or list of shapes, of its inputs in its first call on symbolic tensors; None before that."""
        nodes = self.inbound_nodes
        return one_or_list([x.shape for x in nodes[0].inputs]) if nodes else None

    @property
    def output_shape(self) -> Any:
        """The shape, or list of shapes, of its result in its first call on symbolic tensors; None before that."""
        nodes = self.inbound_nodes
        return one_or_list(nodes[0].shapes) if nodes else None
