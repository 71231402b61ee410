"""Apply a scheme to a network that somebody else wrote, or say why that cannot be done."""

from __future__ import annotations

from torch import nn

from normexp.errors import as_python, did_you_mean, nearest
from normexp.norms.base import Norm, is_own
from normexp.norms.networks.carrying_out import carry_out
from normexp.norms.networks.conversion import Conversion
from normexp.norms.networks.effect import Effect
from normexp.norms.networks.whole import check_network
from normexp.torch_modes import as_it_was_made, made_on_cpu

NOT_OWN = ("normexp", "norms", "torch", "nn")  # begin the names of ours and of torch's
OF_SEQUENCES = ("sequence", "recurrent", "parametrize_recurrent")  # hooks for decoders and recurrent networks
WAY_OUT = "strict=False leaves what cannot be converted"


def convert(model: nn.Module, norm: Norm, *, output: bool = False, strict: bool = True) -> nn.Module:
    """Turn `model` into a network normalized by `norm`, in place, and return it.

    Every batch, instance or group normalization becomes the scheme's; one that applies an activation as well (timm's
    BatchNormAct2d) keeps that. A network without any gets one after every convolution (after every Linear layer, if
    it has no convolution). Every Linear and Conv weight goes through the scheme. Where the scheme leaves activations
    alone, layers without a bias get one (of zeros) in place of the bias that went with the old normalization; those
    whose own forward would not add it stay as they are. Scales, shifts and running estimates of the old normalization
    are kept where the new one has the same; scales that are all 1 and shifts that are all 0 have learned nothing, and
    leave the scheme its own start. Batch normalization takes the place of batch normalization whose function
    it has: not of one without running estimates, nor of one over several processes. A scheme that sets weights refuses
    those that it does not reach: of attention (in_proj), recurrent and Bilinear layers. A LayerNorm is refused, of rows
    (N, C), too: it normalizes the last dimension, and whether that is the channels' or another its module does not say.
    Torch's weight_norm and spectral_norm are schemes as well, in parametrizations or hooks: the weights of all Linear
    and Conv layers, output layers too, are set free of them, with the values that they have in evaluation; those of
    other modules are refused. Other parametrizations (orthogonal) and pruning are no normalization, and stay.

    A scheme that wraps activation functions (NormProp) gets every one that is a module but gates (sigmoids). One that
    replaces them (EvoNorm) takes an activation away where it alone follows a normalization, or, in a network without
    any, a convolution; all others stay. The linear places (a bottleneck, a shortcut) get the scheme without its
    nonlinearity, if there is such a thing.

    Nothing is changed before all of it is known to work: the network's forward is read in training and in evaluation,
    with and without its optional inputs, and as it would be afterwards, too, so that what it reads of its
    normalizations (`bn.running_var`) is there.

    What a scheme does outside the forward pass is for the loop that trains the network to call. Once before it:
    `norm.initialize(model, batch)` (WeightNorm, NormProp) and `hook = norm.step_hook(model)`. After every update:
    `hook()` (NormProp, RepBatchNorm). Added to the loss: `norm.penalty(model)` (SpectralPenalty). Before an evaluation:
    `norm.before_evaluation(model, inputs)` (`estimates="population"`). `hook` and the penalty are None where there is
    nothing to do.

    Args:
        model: for example a torchvision classification network.
        norm: the scheme; its `placement` must be `pre`.
        output: treat the layers whose output is the network's (the classifier, every head) like the others. Where its
            forward cannot be read, these are the last one that it has.
        strict: False leaves what cannot be converted as it is; `model.not_converted` lists it, a line for each. A
            network whose only normalizations are left gets none beside them.

    Raises:
        ValueError: for what is no network, or compiled; for one with hooks or a forward put on it as a whole; for what
            is no scheme, has `placement=post`, or is one of sequences alone; for a network in which the scheme has no
            place, as one that is an output layer alone, whatever normalizes it; for what cannot be converted: its name,
            type, and why. That is also a normalization whose mode is kept by a `train()` of its own or its network's
            (frozen): the scheme's is not. For an `output` or `strict` that is neither True nor False.
    """
    _check_truth(output=output, strict=strict)
    plan = planned(model, norm, output=output, strict=strict)
    if strict and plan.has_no_place:
        raise ValueError(_nothing(plan))
    return carry_out(plan)


@made_on_cpu()
def planned(model: nn.Module, norm: Norm, *, output: bool = False, strict: bool = True) -> Conversion:
    """Return what `convert` would do, for `carry_out`, also where the scheme has no place; change nothing.

    Raises: ValueError as `convert` does.
    """
    check_network(model, valued=False)
    _check_scheme(norm)
    _check_hooks(norm)
    with as_it_was_made(model):
        plan = Conversion(model, norm, output)
    if strict and plan.left:
        raise _incomplete(plan)
    return plan


def _nothing(plan: Conversion) -> str:
    """Return the error for a network in which there is nothing to put the scheme on."""
    way_out = "; output=True takes the last layer" if len(plan.layers) > len(plan.hidden) else ""
    name, kind = type(plan.norm).__name__, type(plan.model).__name__
    loses = plan.new or plan.freed
    what = f"would lose what normalizes it and get no {name}" if loses else f"would not be changed by {name}"
    return f"{kind} {what}: it has nothing to put {name} on{way_out}"


def _check_truth(**given: object) -> None:
    """Raise ValueError for an argument that is neither True nor False: the text "no" would count as True."""
    if wrong := next((name for name, value in given.items() if not isinstance(value, bool)), None):
        raise ValueError(f"{wrong}={as_python(given[wrong])}: must be True or False")


def _check_scheme(norm: object) -> None:
    """Raise ValueError for what is no scheme, and for one that is to stand behind the activation."""
    if not isinstance(norm, Norm):
        raise _no_scheme(norm)
    if norm.placement != "pre":
        raise ValueError(f"a ready-made network fixes its own order: placement={norm.placement} must be pre")


def _check_hooks(norm: Norm) -> None:
    """Raise ValueError for an own scheme of sequences alone, which would take normalizations out unnoticed."""
    kind = type(norm)
    own = [name for name in OF_SEQUENCES if is_own(kind) and getattr(kind, name) is not getattr(Norm, name)]
    if own and not Effect.of(norm).is_any:
        hooks = " and ".join(f"{name}()" for name in own)
        raise ValueError(f"{kind.__name__} has {hooks} alone, which convert does not call: it needs normalization()")


def _incomplete(plan: Conversion) -> ValueError:
    """Return the error for a network of which not all can be converted."""
    more = f" (and {len(plan.left) - 1} more)" if len(plan.left) > 1 else ""
    what = f"{type(plan.model).__name__} cannot be converted to {type(plan.norm).__name__}"
    return ValueError(f"{what}: {plan.left[0]}{more}; {WAY_OUT}")


def _no_scheme(given: object) -> ValueError:
    """Return the error for what is no scheme, with the nearest one: "group", a scheme's class, torch's own module."""
    kind = given if isinstance(given, type) else type(given)
    shown = f"{kind.__module__}.{kind.__name__}"
    if isinstance(given, type) and issubclass(given, Norm) and is_own(given):
        meant: str | None = shown
    elif isinstance(given, str):
        shown, meant = repr(given), _named(given)
    elif kind.__module__ == "builtins":
        shown, meant = kind.__name__, None
    else:
        meant = _nearest_of_ours(kind.__name__)
    hint = did_you_mean(meant and f"{meant}()")
    return ValueError(f"norm={shown}: must be a scheme, for example normexp.norms.GroupNorm(num_groups=4){hint}")


def _named(text: str) -> str | None:
    """Return which scheme a text names: one of a module of the user's own itself, else the nearest of ours."""
    module, _, name = text.rpartition(".")
    return text if module and module.split(".")[0] not in NOT_OWN else _nearest_of_ours(name)


def _nearest_of_ours(name: str) -> str | None:
    from normexp import norms

    close = nearest(name, dir(norms))
    return close and f"normexp.norms.{close}"
