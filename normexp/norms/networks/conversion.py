"""What becomes of every module of a network that is converted to a scheme, found before any is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property, partial
from itertools import chain
from typing import Any

from torch import nn

from normexp.errors import first_line
from normexp.norms.base import Norm, Rows, num_outputs, weight_layers
from normexp.norms.networks.dataflow import NONLINEAR, POOLING, Dataflow, Untraceable, name_of
from normexp.norms.networks.effect import Effect
from normexp.norms.networks.modes import odd_modes
from normexp.norms.networks.modules import NORMS, fused_tail, has_layers, is_nonlinearity, lost_with, width
from normexp.norms.networks.readers import Differs, Lacks, check_readers, reads_behind
from normexp.norms.networks.refusals import (
    CannotConvert,
    cannot,
    refuse_computed,
    refuse_layer,
    refuse_other_statistics,
    refuse_unknown_norm,
    refuse_unreached,
    refuse_vectors,
    refuse_weight,
)
from normexp.norms.networks.replacement import carry
from normexp.norms.networks.torch_weights import schemes_of_torch
from normexp.norms.networks.unread import stranger
from normexp.norms.networks.unregistered import unregistered

POOLS = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)
CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


class Conversion:
    """What becomes of every module, found without changing any.

    Args:
        new: module -> what is put in its places.
        reparametrized: layers whose weight goes through the scheme.
        freed: layers whose weight goes through weight_norm or spectral_norm of torch, and will not.
        unknown: normalizations, or what may be one, whose place no scheme can take.
        left: what cannot be converted, one line each.
    """

    def __init__(self, model: nn.Module, norm: Norm, output: bool) -> None:
        self.model, self.norm = model, norm
        self.names = {module: name for name, module in model.named_modules()}
        self.layers = weight_layers(model)
        self.hidden = self.layers if output else self._hidden()
        self.new: dict[nn.Module, nn.Module] = {}
        self.together: list[set[nn.Module]] = []
        self.left: list[str] = []
        self.normalizations = [module for module in self.names if isinstance(module, NORMS)]
        self.effect = Effect.of(norm)
        self.flow = self._read() if self.effect.replaces or self.effect.wraps or self.effect.pools else None
        if not self.layers and not self.normalizations:
            self._try(model, cannot("has no Linear or Conv layer and no normalization of torch.nn to be changed"))
        for owner, attribute, kept in unregistered(model):
            if has_layers(kept):
                what = f"keeps a {type(kept).__name__} in its {attribute}, where it is no module of the network"
                self._try(owner, cannot(f"{what} (nn.ModuleList would make it one)"))
        called = stranger(self.reading.__cause__) if isinstance(self.reading, Untraceable) else None
        if called is not None and has_layers(called) and not self.left:
            self._try(model, cannot(f"calls a {type(called).__name__} that is no module of the network"))
        self.unknown = [module for module in self.names if not self._try(module, refuse_unknown_norm)]
        for module in self.names if self.effect.sets_weights else ():
            self._try(module, refuse_unreached)
        self._activations()
        self._pools()
        self._normalizations()
        self._modes()
        self._readers()
        self.reparametrized: list[nn.Module] = []
        self.freed: list[nn.Module] = []
        self._weights()

    @property
    def has_no_place(self) -> bool:
        """True where a scheme that acts on a network's modules is put nowhere in this one, whatever is taken out."""
        weights = self.effect.sets_weights and self.reparametrized
        return self.effect.is_any and not (weights or self._puts_modules() or self.left)

    def _puts_modules(self) -> bool:
        """Tell whether a module of the scheme's comes into the network; what only takes others out is an Identity."""
        made = (part for old, new in self.new.items() for part in set(new.modules()) - set(old.modules()))
        return any(type(part) not in (nn.Identity, nn.Sequential) for part in made)

    def _hidden(self) -> list[nn.Module]:
        """Return the layers but those whose output is the network's: the classifier, or every head."""
        read = self.reading
        ends = read.ends(self.layers) if isinstance(read, Dataflow) else self.layers[-1:]
        return [layer for layer in self.layers if layer not in ends]

    def _try(self, module: nn.Module, step: Callable[[Any], object]) -> bool:
        """Do one step for a module; note why it cannot be done."""
        try:
            step(module)
        except (CannotConvert, ValueError, RuntimeError) as why:
            reason = first_line(why)
            self.left.append(f"{self.names.get(module) or 'the network'} ({type(module).__name__}): {reason}")
            return False
        return True

    @cached_property
    def reading(self) -> Dataflow | Untraceable:
        """The network's calls as it is, or why they cannot be read. Reading is most of a conversion's time."""
        try:
            return Dataflow(self.model)
        except Untraceable as why:
            return why

    def _read(self) -> Dataflow | None:
        found = self.reading
        if isinstance(found, Dataflow):
            return found
        self._try(self.model, cannot(f"its forward cannot be read, so what follows what is not known ({found})"))
        return None

    # --- activation functions

    def _activations(self) -> None:
        """Wrap every activation function, where the scheme does; without gates, which are no activations."""
        if not self.effect.wraps:
            return
        for name in sorted(set(self.flow.functional(NONLINEAR))) if self.flow else ():
            self._try(self.model, cannot(f"calls {name}() as a function, where the scheme has to wrap a module"))
        fused = {child for module in self.normalizations for child in module.modules()}
        for module in self.names:
            if module not in fused and is_nonlinearity(module):
                self._try(module, lambda fn: self.new.update({fn: self._wrapped(fn)}))

    def _wrapped(self, fn: nn.Module) -> nn.Module:
        if any(True for _ in fn.parameters()):
            raise CannotConvert("an activation function that learns has no constants to be standardized by")
        return self.norm.nonlinearity(fn).train(fn.training)

    def _pools(self) -> None:
        """Replace pooling layers, where the scheme does."""
        if not self.effect.pools:
            return
        for name in sorted(set(self.flow.functional(POOLING))) if self.flow else ():
            self._try(self.model, cannot(f"calls {name}() as a function, where the scheme has to replace a module"))
        for module in (each for each in self.names if type(each) in POOLS):
            self._try(module, lambda pool: self.new.update({pool: self.norm.pool(pool)}))

    # --- normalizations

    def _normalizations(self) -> None:
        if not self.normalizations and not self.unknown:  # beside one that is left there would be two
            self._insert()
            return
        followed = self._followed(self.normalizations) if self.effect.replaces else {}
        for module in self.normalizations:
            self._try(module, lambda old: self._place(self._in_place_of(old, followed)))

    def _in_place_of(self, old: nn.Module, followed: dict[nn.Module, nn.Module]) -> dict[nn.Module, nn.Module]:
        """Return what replaces a normalization, and its activation if the scheme brings one."""
        tail = fused_tail(old)
        if lost := lost_with(old, self.model):
            raise CannotConvert(lost)
        if tail is None:
            raise CannotConvert("a normalization with a forward of its own, whose function would change")
        tail = [each for each in tail if type(each) is not nn.Identity]
        acts = [each for each in tail if is_nonlinearity(each)]
        if self.effect.replaces and not acts and (name := self._function_behind(old)):
            raise CannotConvert(f"calls its activation {name}() as a function, which the scheme cannot replace")
        if self.effect.wraps:
            tail = [self._wrapped(each) if each in acts else each for each in tail]
        gated = self.effect.replaces and bool(acts or followed.get(old))
        linear = self.effect.replaces and not gated
        new = self._made(width(old), like=old, linear=linear)
        if self._gets_vectors(old):
            refuse_vectors(self.norm, width(old), linear)
        refuse_other_statistics(old, new)
        carry(old, new)
        tail = [each for each in tail if not (gated and each in acts)]
        taken = {} if acts or not gated else {followed[old]: nn.Identity().train(followed[old].training)}
        return {old: nn.Sequential(new, *tail).train(old.training) if tail else new, **taken}

    def _gets_vectors(self, old: nn.Module) -> bool:
        """Tell whether a normalization gets the output of a Linear layer with as many features as it has."""
        read = self.reading
        sources = [read.module(read.source(node)) for node in read.calls(old)] if isinstance(read, Dataflow) else []
        return any(isinstance(each, nn.Linear) and each.out_features == width(old) for each in sources)

    def _made(self, channels: int, like: nn.Module, linear: bool) -> nn.Module:
        """Return the scheme's module for a place, with the type, device and mode of the module `like`."""
        new = self.norm.linear_normalization(channels) if linear else self.norm.normalization(channels)
        if linear and isinstance(new, nn.Identity):
            raise CannotConvert("no activation of its own follows, and the scheme is both in one")
        placed = next(chain(like.parameters(), self.model.parameters()), None)
        if placed is not None and placed.is_complex():
            raise CannotConvert("has complex numbers, of which no scheme is defined")
        return (new if placed is None else new.to(placed)).train(like.training)

    def _followed(self, modules: Iterable[nn.Module]) -> dict[nn.Module, nn.Module]:
        """Return module -> the activation that alone follows it in every call, and follows nothing else."""
        if self.flow is None:
            return {}
        flow, found = self.flow, {}
        for module in modules:
            after = [flow.follower(node) for node in flow.calls(module)]
            acts = {flow.module(node) for node in after}
            (act,) = acts if len(acts) == 1 else (None,)
            if act is not None and is_nonlinearity(act):
                sources = {flow.module(node) for node in map(flow.source, flow.calls(act))}
                if sources <= set(modules):
                    found[module] = act
                else:
                    where = f"its activation {self.names[act]} is used elsewhere too, where nothing is normalized"
                    self._try(module, cannot(where))
        return found

    def _function_behind(self, module: nn.Module) -> str:
        """Return the name of an activation that is called as a function on the module's output, or nothing."""
        after = [self.flow.follower(node) for node in self.flow.calls(module)] if self.flow else []
        return next((name for node in after if node is not None and (name := name_of(node)) in NONLINEAR), "")

    def _insert(self) -> None:
        """Put the scheme's module behind every convolution, or without any, every Linear layer."""
        convolutions = [layer for layer in self.hidden if not isinstance(layer, nn.Linear)]
        places = convolutions or self.hidden
        followed = self._followed(places) if self.effect.replaces else {}
        if not self.effect.normalizes:
            return
        for layer in places:
            self._try(layer, lambda layer: self._place(self._behind(layer, followed.get(layer))))

    def _behind(self, layer: nn.Module, act: nn.Module | None) -> dict[nn.Module, nn.Module]:
        """Return what replaces a layer: itself with the scheme's module behind it."""
        linear = self.effect.replaces and act is None
        after = self._made(num_outputs(layer), like=layer, linear=linear)
        if isinstance(layer, nn.Linear):
            refuse_vectors(self.norm, num_outputs(layer), linear)
        owner = self.model.get_submodule(self.names[layer].rpartition(".")[0])
        if type(owner).__module__.startswith("torch.nn.") and not isinstance(owner, CONTAINERS):
            raise CannotConvert(f"{type(owner).__name__} computes with its weight and does not call it")
        after = Rows(after) if isinstance(layer, nn.Linear) else after  # its channels are last, behind any tokens
        taken = {} if act is None else {act: nn.Identity().train(act.training)}
        return {layer: nn.Sequential(layer, after).train(layer.training), **taken}

    # --- weights

    def _weights(self) -> None:
        """Find the weights that the scheme sets, and those that torch's schemes do not any longer."""
        free = {module for module in self.names if self._try(module, partial(refuse_computed, model=self.model))}
        refuse = partial(refuse_weight, model=self.model) if self.effect.sets_weights else refuse_layer
        check = partial(refuse, norm=self.norm)
        self.reparametrized = [layer for layer in self.hidden if layer in free and self._try(layer, check)]
        left = set(self.hidden) - set(self.reparametrized) if self.effect.sets_weights else set()
        self.freed = [layer for layer in self.layers if layer in free - left and schemes_of_torch(layer)]
        if read := reads_behind(self.model, self.reading, self.freed) if self.freed else "":
            self._try(self.model, cannot(f"reads {read} of a layer whose weight torch computes, which would be gone"))
            self.freed, self.reparametrized = [], []

    # --- the network's own code

    def _place(self, new: dict[nn.Module, nn.Module]) -> None:
        """Replace modules together or not at all: a normalization and the activation that the scheme brings."""
        if self.model in new:
            raise CannotConvert("is the whole network, in whose place nothing can be put; give nn.Sequential(model)")
        self.new |= new
        self.together.append(set(new))

    def _modes(self) -> None:
        """Leave what keeps a mode that the scheme's module would not keep, as a frozen batch normalization does."""
        odd = odd_modes(self.model, self.new)
        for old in odd:
            self._try(old, cannot("a train() of its own, or its network's, keeps its mode, and would not the scheme's"))
        self._leave(odd)

    def _readers(self) -> None:
        """Leave what the network's own forward reads, where the scheme's module lacks that."""
        while True:
            try:
                return check_readers(self.model, self.reading, self.new)
            except Lacks as read:
                old = self.model.get_submodule(read.name)
                why = f"{read.how}, which {type(self.new[old]).__name__} in its place does not have"
                self._try(old, cannot(f"the network {why}"))
                self._leave({old})
            except Differs as why:
                self._try(self.model, cannot(str(why)))
                self.new = {}
                return

    def _leave(self, modules: set[nn.Module]) -> None:
        """Take modules out of what is replaced, and what is replaced together with them."""
        while more := set().union(*(group for group in self.together if group & modules)) - modules:
            modules |= more
        self.new = {old: made for old, made in self.new.items() if old not in modules}
